package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcHandlerException;
import dev.lite.mr.data.Run;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The workers of a master, and what they are told to do: answers their calls. Any thread. */
final class Crew implements RpcHandler, AutoCloseable {
    /** The handler's code for a worker that this master does not know; it registers again. */
    static final int UNKNOWN_WORKER = 1;

    private static final int WORKERS_MAX = 1024;
    private static final long NUMBER_FIRST_MAX = 1L << 62;
    private static final long LONG_POLL_NS = 500_000_000;
    private static final Duration RELEASE = Duration.ofSeconds(10);

    private final Lite lite;
    private final Duration workerTimeout;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<Long, RemoteWorker> workers = new TreeMap<>();
    /**
     * Numbers of workers and of jobs. They begin at random: a thread that returns late from a job of a former master asks this one, which has
     * the same function, with the numbers of that one.
     */
    private long lastWorker = ThreadLocalRandom.current().nextLong(NUMBER_FIRST_MAX);

    private long lastJob = ThreadLocalRandom.current().nextLong(NUMBER_FIRST_MAX);
    private @Nullable Current current;
    private JobStatus idle = JobStatus.NONE;
    private boolean closed;

    Crew(Lite lite, Duration workerTimeout) {
        this.lite = lite;
        this.workerTimeout = workerTimeout;
    }

    @Override
    public MemorySegment handle(RpcCall call) {
        Wire.In in = new Wire.In(call.request().toArray(ValueLayout.JAVA_BYTE));
        byte[] reply = switch (in.kind(Wire.Ask.class)) {
            case REGISTER -> register(in);
            case NEXT -> next(in);
            case JOB -> job(in);
            case DONE -> done(in);
            case FAILED -> failed(in);
            case RELEASED -> released(in);
        };
        return MemorySegment.ofArray(reply);
    }

    private byte[] register(Wire.In in) {
        String name = in.text();
        String node = in.text();
        int threads = in.integer();
        LmrHandle life = lite.memory().map(in.number(), Permission.READ);
        lock.lock();
        try {
            if (workers.size() >= WORKERS_MAX) {
                life.unmap();
                throw new RpcHandlerException("the master has %d workers, the limit".formatted(WORKERS_MAX));
            }
            RemoteWorker worker = new RemoteWorker(++lastWorker, name, node, threads, life);
            workers.put(worker.id, worker);
            worker.watch(workerTimeout, this::lost);
            changed.signalAll();
            return new Wire.Out().number(worker.id).text(lite.nodeName()).toBytes("a registration");
        } finally {
            lock.unlock();
        }
    }

    private void lost(RemoteWorker worker, String reason) {
        lock.lock();
        try {
            if (workers.remove(worker.id) != null && current != null) {
                for (Plan.Slot slot : worker.slots) {
                    current.fail(current.plan.lose(slot, reason));
                }
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private RemoteWorker worker(long id) {
        RemoteWorker worker = workers.get(id);
        if (worker == null) {
            throw new RpcHandlerException(UNKNOWN_WORKER, "worker %d is not registered".formatted(id));
        }
        return worker;
    }

    private byte[] next(Wire.In in) {
        long id = in.number();
        int thread = in.integer();
        long endNs = System.nanoTime() + LONG_POLL_NS;
        lock.lock();
        try {
            if (current != null) {
                current.plan.giveBack(worker(id).slots.get(thread), System.nanoTime());
            }
            while (true) {
                Plan.Slot slot = worker(id).slots.get(thread);
                long nowNs = System.nanoTime();
                byte[] order = current == null ? null : current.order(slot, nowNs);
                if (order != null) {
                    return order;
                }
                if (nowNs >= endNs || !slot.toFree.isEmpty()) {
                    return order(Wire.Order.WAIT, slot).toBytes("an order");
                }
                awaitChange(endNs - nowNs);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a change, or less; every caller loops. */
    @SuppressWarnings("WaitNotInLoop")
    private void awaitChange(long timeoutNs) {
        try {
            long unused = changed.awaitNanos(Math.max(1, timeoutNs));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MrException("interrupted", e);
        }
    }

    private Wire.Out order(Wire.Order order, Plan.Slot slot) {
        Wire.Out out = new Wire.Out(order).number(lastJob).numbers(slot.toFree);
        slot.toFree.clear();
        return out;
    }

    private byte[] job(Wire.In in) {
        lock.lock();
        try {
            Current job = current(in.number());
            if (job == null) {
                throw new RpcHandlerException("the job has ended");
            }
            return job.description;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Current current(long number) {
        return current != null && lastJob == number ? current : null;
    }

    private byte[] done(Wire.In in) {
        lock.lock();
        try {
            Plan.Slot slot = worker(in.number()).slots.get(in.integer());
            Current job = current(in.number());
            int id = in.integer();
            boolean accepted = job != null && job.accept(slot, id, in);
            changed.signalAll();
            return new Wire.Out().number(accepted ? 1 : 0).toBytes("an answer");
        } finally {
            lock.unlock();
        }
    }

    private byte[] failed(Wire.In in) {
        lock.lock();
        try {
            Plan.Slot slot = worker(in.number()).slots.get(in.integer());
            Current job = current(in.number());
            int id = in.integer();
            Wire.Failure failure = in.kind(Wire.Failure.class);
            if (job != null) {
                job.failed(slot, id, failure, in.text());
            }
            changed.signalAll();
            return new Wire.Out().toBytes("an answer");
        } finally {
            lock.unlock();
        }
    }

    private byte[] released(Wire.In in) {
        lock.lock();
        try {
            RemoteWorker worker = worker(in.number());
            worker.released(in.integer(), current != null && !current.ending);
            changed.signalAll();
            return new Wire.Out().toBytes("an answer");
        } finally {
            lock.unlock();
        }
    }

    JobStatus status() {
        lock.lock();
        try {
            JobStatus status = current == null ? idle : current.status();
            return new JobStatus(
                    status.job(),
                    current == null ? "idle" : status.phase(),
                    status.mapDone(),
                    status.mapTotal(),
                    status.reduceDone(),
                    status.reduceTotal(),
                    status.mergeDone(),
                    status.mergeTotal(),
                    workers.values().stream().map(RemoteWorker::toString).toList(),
                    status.counters(),
                    status.again());
        } finally {
            lock.unlock();
        }
    }

    private static void free(LmrHandle board) {
        try {
            board.free();
        } catch (LiteException e) {
            // The session has ended, and with it the board.
        }
    }

    /**
     * Starts a job. Allocates its board: a word that says that the job has ended, and one for each task.
     *
     * @throws MrException if this is closed, or the job cannot be described to the workers
     */
    Current begin(JobSpec spec, Plan plan) {
        long bytes = (1L + plan.tasks.size()) * Long.BYTES;
        LmrHandle board = lite.memory().malloc(LmrSpec.of(bytes).withDefaultPermissions(Permission.READ));
        boolean done = false;
        lock.lock();
        try {
            if (closed) {
                throw new MrException("the master is closed");
            }
            Current begun = new Current(spec, plan, board);
            lastJob++;
            workers.values().forEach(RemoteWorker::newJob);
            current = begun;
            changed.signalAll();
            done = true;
            return begun;
        } finally {
            lock.unlock();
            if (!done) {
                free(board);
            }
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            workers.values().forEach(RemoteWorker::close);
            workers.clear();
            if (current != null && current.failure == null) {
                current.failure = "its master was closed";
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The running job. */
    final class Current implements AutoCloseable {
        private final JobSpec spec;
        private final Plan plan;
        private final LmrHandle board;
        /** What a worker needs to know before its first task. */
        private final byte[] description;

        private @Nullable String failure;
        private boolean ending;
        private long workerSeenNs = System.nanoTime();

        private Current(JobSpec spec, Plan plan, LmrHandle board) {
            this.spec = spec;
            this.plan = plan;
            this.board = board;
            description = description();
        }

        private byte[] description() {
            return new Wire.Out()
                    .text(spec.job().getName())
                    .number(spec.format().headerBytes())
                    .number(spec.format().recordBytes())
                    .number(spec.partitions())
                    .number(board.id())
                    .texts(spec.parameters())
                    .toBytes("the job's parameters");
        }

        /** The next order for a thread; null if it waits. */
        private byte @Nullable [] order(Plan.Slot slot, long nowNs) {
            if (slot.joined && !slot.released && (ending || slot.abandoned)) {
                return Crew.this.order(Wire.Order.RELEASE, slot).toBytes("an order");
            }
            if (ending || slot.abandoned || failure != null) {
                return null;
            }
            try {
                if (plan.shouldFinish(slot, nowNs)) {
                    return Crew.this.order(Wire.Order.FINISH, slot).toBytes("an order");
                }
                Plan.Task task = plan.next(slot, nowNs);
                if (task == null && plan.abandonStuck(slot, nowNs)) {
                    task = plan.next(slot, nowNs);
                    changed.signalAll();
                }
                unmarkPending();
                return task == null ? null : order(task, slot);
            } catch (MrException e) {
                failure = e.getMessage();
                changed.signalAll();
                return null;
            }
        }

        private byte[] order(Plan.Task task, Plan.Slot slot) {
            plan.join(slot);
            Wire.Order kind = switch (task.kind) {
                case MAP -> Wire.Order.MAP;
                case REDUCE -> Wire.Order.REDUCE;
                case MERGE -> Wire.Order.MERGE;
            };
            Wire.Out out = Crew.this.order(kind, slot).number(task.id);
            Plan.Split split = task.split;
            if (split == null) {
                return out.runs(plan.runsFor(task)).toBytes("the input of the " + task);
            }
            Input input = spec.inputs().get(split.input());
            out.number(split.input()).number(split.start()).number(split.end());
            switch (input) {
                case Input.File file -> out.number(0).text(file.path().toString());
                case Input.Lmr lmr -> out.number(1).text(lmr.name());
            }
            return out.toBytes("the name of " + input);
        }

        private boolean accept(Plan.Slot slot, int id, Wire.In in) {
            Map<String, Long> counters = in.numbers();
            List<Integer> partitions = in.integers();
            List<Run> runs = in.runs();
            if (slot.abandoned || ending) {
                return false;
            }
            if (id < 0) {
                List<Plan.PartitionRun> written = new ArrayList<>();
                for (int i = 0; i < runs.size(); i++) {
                    written.add(new Plan.PartitionRun(partitions.get(i), runs.get(i)));
                }
                plan.finished(slot, written);
                return true;
            }
            Plan.Task task = plan.tasks.get(id);
            Run run = runs.isEmpty() ? new Run(List.of()) : runs.getFirst();
            boolean accepted = plan.accept(task, slot, run, counters, System.nanoTime());
            if (accepted) {
                mark(1 + id, 1);
            }
            return accepted;
        }

        /** Sets a word of the board, which the workers read. */
        private void mark(int word, long value) {
            try {
                board.putLong((long) word * Long.BYTES, value);
            } catch (LiteException e) {
                failure = "the master cannot use its node: " + e.getMessage();
            }
        }

        private void failed(Plan.Slot slot, int id, Wire.Failure kind, String message) {
            String reason = message;
            if (kind == Wire.Failure.INPUT_LOST && id >= 0) {
                reason = plan.inputLost(plan.tasks.get(id), slot, message, System.nanoTime());
            } else if (kind == Wire.Failure.NO_MEMORY && id >= 0) {
                reason = plan.outOfMemory(plan.tasks.get(id), slot, message, System.nanoTime());
            } else if (kind == Wire.Failure.UNWRITTEN && id >= 0) {
                reason = plan.resultUnwritten(plan.tasks.get(id), slot, message, System.nanoTime());
            } else if (kind == Wire.Failure.UNWRITTEN) {
                reason = plan.resultsUnwritten(slot, message);
            } else if (id >= 0 && plan.tasks.get(id).isDone()) {
                reason = null; // a second copy
            }
            fail(reason);
        }

        /** The job fails, for the first reason; null: it does not. */
        private void fail(@Nullable String reason) {
            if (failure == null && reason != null) {
                failure = reason;
            }
        }

        /**
         * Waits for the result.
         *
         * @return whether it is there
         * @throws MrException if the job has failed, or there was no worker for too long
         */
        boolean awaitResult(Duration timeout) {
            long endNs = System.nanoTime() + timeout.toNanos();
            lock.lock();
            try {
                while (true) {
                    long nowNs = System.nanoTime();
                    check(nowNs);
                    if (plan.root().state == Plan.State.DONE) {
                        return true;
                    }
                    if (nowNs >= endNs) {
                        return false;
                    }
                    awaitChange(Math.min(endNs - nowNs, LONG_POLL_NS / 5));
                }
            } finally {
                lock.unlock();
            }
        }

        private void check(long nowNs) {
            if (failure != null) {
                throw new MrException(
                        "the job %s failed: %s".formatted(spec.job().getName(), failure));
            }
            if (!workers.isEmpty()) {
                workerSeenNs = nowNs;
            } else if (nowNs - workerSeenNs > Times.nanos(spec.workerWait())) {
                throw new MrException("the job %s has no worker: none registered within %s"
                        .formatted(spec.job().getName(), spec.workerWait()));
            }
        }

        /** Tasks that run again are not done any more. */
        private void unmarkPending() {
            for (Plan.Task task : plan.tasks) {
                if (!task.isDone() && task.wasDone) {
                    task.wasDone = false;
                    mark(1 + task.id, 0);
                }
            }
        }

        /** Waits until the plan knows that the result was lost, which reading it has shown. */
        void awaitLossOfResult(LiteException error) {
            long endNs = System.nanoTime() + Times.nanos(workerTimeout) + RELEASE.toNanos();
            lock.lock();
            try {
                while (plan.root().state == Plan.State.DONE) {
                    long nowNs = System.nanoTime();
                    if (nowNs > endNs) {
                        throw error;
                    }
                    awaitChange(LONG_POLL_NS);
                }
            } finally {
                lock.unlock();
            }
        }

        Map<String, Long> counters() {
            lock.lock();
            try {
                return plan.counters();
            } finally {
                lock.unlock();
            }
        }

        List<String> again() {
            lock.lock();
            try {
                return List.copyOf(plan.again);
            } finally {
                lock.unlock();
            }
        }

        private JobStatus status() {
            int maps = plan.done(Plan.Kind.MAP);
            int reduces = plan.done(Plan.Kind.REDUCE);
            String phase = maps < plan.total(Plan.Kind.MAP)
                    ? "map"
                    : reduces < plan.total(Plan.Kind.REDUCE)
                            ? "reduce"
                            : plan.root().state == Plan.State.DONE ? "output" : "merge";
            return new JobStatus(
                    spec.job().getName(),
                    phase,
                    maps,
                    plan.total(Plan.Kind.MAP),
                    reduces,
                    plan.total(Plan.Kind.REDUCE),
                    plan.done(Plan.Kind.MERGE),
                    plan.total(Plan.Kind.MERGE),
                    List.of(),
                    plan.counters(),
                    plan.again);
        }

        /** Ends the job, and waits until the live workers have freed what it allocated. An interrupt does not end the wait; it is kept. */
        @Override
        public void close() {
            boolean interrupted = Thread.interrupted();
            long endNs = System.nanoTime() + RELEASE.toNanos();
            lock.lock();
            try {
                ending = true;
                mark(0, 1);
                changed.signalAll();
                long leftNs = endNs - System.nanoTime();
                while (leftNs > 0 && workers.values().stream().anyMatch(Current::isHolding)) {
                    try {
                        long unused = changed.awaitNanos(Math.min(leftNs, LONG_POLL_NS / 5));
                    } catch (InterruptedException e) {
                        interrupted = true;
                    }
                    leftNs = endNs - System.nanoTime();
                }
                // A worker that does not return from the job's code is none of this master any more.
                for (RemoteWorker worker : List.copyOf(workers.values())) {
                    if (isHolding(worker)) {
                        workers.remove(worker.id);
                        worker.close();
                    }
                }
                idle = status();
                current = null;
            } finally {
                lock.unlock();
                free(board);
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        private static boolean isHolding(RemoteWorker worker) {
            return worker.slots.stream().anyMatch(slot -> slot.joined && !slot.released);
        }
    }
}
