package dev.lite.bench.qos;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.Priority;
import dev.lite.bench.load.Latencies;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.node.LiteNode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs jobs, each in a thread, against memory of another node. Used once, by one thread. */
final class Load {
    /** The length of a step of the series. */
    static final int STEP_MS = 100;

    private static final long LMR_BYTES = 1 << 20;
    private static final int STEPS_MAX = 3000;
    private static final long NS_PER_MS = 1_000_000;
    private static final Duration END = Duration.ofSeconds(60);

    private final LiteNode node;
    private final String remote;
    private final long rampNs;
    private final long endNs;
    private final long beginNs;
    private final List<Thread> threads = new ArrayList<>();
    private final List<LmrHandle> handles = new ArrayList<>();
    private final Map<String, Lite> sessions = new HashMap<>();
    private final Map<String, List<Counts>> counts = new HashMap<>();
    private volatile @Nullable Throwable failure;

    /**
     * Opens the sessions.
     *
     * @param rampMs this part of the run is not measured, except in the series
     * @param endMs the end of the run; endless jobs end here
     */
    Load(LiteNode node, String remote, int rampMs, int endMs) {
        this.node = node;
        this.remote = remote;
        beginNs = System.nanoTime() + 200 * NS_PER_MS;
        rampNs = beginNs + rampMs * NS_PER_MS;
        endNs = beginNs + endMs * NS_PER_MS;
    }

    /**
     * What one application did.
     *
     * @param bytes of the operations that ended after the ramp and before the end of the run
     * @param operations those that began then; the last one of a thread ends later
     * @param p50Ns of these operations
     * @param p99Ns likewise
     * @param series its bytes in each step of {@link #STEP_MS} from the begin on
     */
    record Outcome(String application, long bytes, long operations, double p50Ns, double p99Ns, List<Long> series) {}

    /** What one thread counts. The threads share none, since a cache line that they share would slow them down. */
    static final class Counts {
        final Latencies latencies = new Latencies();
        final long[] steps = new long[STEPS_MAX];
        long bytes;
        private final long beginNs;
        private final long rampNs;
        private final long endNs;

        Counts(long beginNs, long rampNs, long endNs) {
            this.beginNs = beginNs;
            this.rampNs = rampNs;
            this.endNs = endNs;
        }

        /**
         * An operation that began before the end of the run has ended. The last one counts, too: it may be
         * the slowest.
         */
        void ended(long fromNs, long toNs, long length) {
            int step = (int) ((toNs - beginNs) / (STEP_MS * NS_PER_MS));
            if (step >= 0 && step < STEPS_MAX) {
                steps[step] += length;
            }
            if (toNs >= rampNs && toNs < endNs) {
                bytes += length;
            }
            if (fromNs >= rampNs) {
                latencies.add(toNs - fromNs);
            }
        }
    }

    /** Runs the jobs and waits for all. */
    List<Outcome> run(List<Job> jobs) {
        try (Arena arena = Arena.ofShared()) {
            for (Job job : jobs) {
                prepare(job, arena.allocate(job.bytes(), 64));
            }
            threads.forEach(Thread::start);
            join();
        } finally {
            handles.forEach(LmrHandle::free);
            sessions.values().forEach(Lite::close);
        }
        Throwable failed = failure;
        if (failed != null) {
            throw new IllegalStateException("a job failed: " + failed, failed);
        }
        return sessions.keySet().stream().sorted().map(this::outcome).toList();
    }

    private void prepare(Job job, MemorySegment local) {
        String application = job.application();
        Lite session = sessions.computeIfAbsent(application, name -> open(name, job.priority()));
        LmrHandle handle = session.memory().malloc(LmrSpec.of(LMR_BYTES).withPlacement(Placement.on(remote)));
        handles.add(handle);
        Counts mine = new Counts(beginNs, rampNs, endNs);
        counts.computeIfAbsent(application, any -> new ArrayList<>()).add(mine);
        threads.add(Thread.ofPlatform()
                .daemon()
                .name("%s-%d".formatted(application, threads.size()))
                .unstarted(() -> work(job, handle, local, mine)));
    }

    private Lite open(String application, Priority priority) {
        return node.attach(application, priority);
    }

    private void work(Job job, LmrHandle handle, MemorySegment local, Counts mine) {
        try {
            sleepUntil(beginNs + job.beginMs() * NS_PER_MS);
            repeat(job, job.requests(), handle, local, mine);
            if (job.thenRequests() > 0) {
                sleepUntil(System.nanoTime() + Job.PAUSE_MS * NS_PER_MS);
                repeat(job, job.thenRequests(), handle, local, mine);
            }
        } catch (RuntimeException | Error e) {
            failure = e;
        }
    }

    private void repeat(Job job, int requests, LmrHandle handle, MemorySegment local, Counts mine) {
        long before = System.nanoTime();
        long offset = 0;
        for (int request = 0; request < requests && before < endNs && failure == null; request++) {
            if (job.write()) {
                handle.write(offset, local);
            } else {
                handle.read(offset, local);
            }
            offset = (offset + job.bytes()) & (LMR_BYTES - 1);
            long now = System.nanoTime();
            mine.ended(before, now, job.bytes());
            before = now;
        }
    }

    private static void sleepUntil(long ns) {
        long left = ns - System.nanoTime();
        if (left > 0) {
            boolean unused = Polling.until(() -> false, Deadline.in(Duration.ofNanos(left)), left);
        }
    }

    private void join() {
        Deadline deadline = Deadline.in(END.plusNanos(Math.max(0, endNs - System.nanoTime())));
        try {
            for (Thread thread : threads) {
                if (!thread.join(deadline.remaining())) {
                    throw new IllegalStateException("%s did not end".formatted(thread.getName()));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    private Outcome outcome(String application) {
        Latencies all = new Latencies();
        long[] steps = new long[STEPS_MAX];
        long bytes = 0;
        for (Counts mine : counts.getOrDefault(application, List.of())) {
            all.add(mine.latencies);
            bytes += mine.bytes;
            for (int step = 0; step < STEPS_MAX; step++) {
                steps[step] += mine.steps[step];
            }
        }
        int last = steps.length;
        while (last > 0 && steps[last - 1] == 0) {
            last--;
        }
        return new Outcome(
                application,
                bytes,
                all.count(),
                all.quantile(0.5),
                all.quantile(0.99),
                Arrays.stream(steps, 0, last).boxed().toList());
    }
}
