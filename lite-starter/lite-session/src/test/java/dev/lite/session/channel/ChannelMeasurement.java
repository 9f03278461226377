package dev.lite.session.channel;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Measures calls of 8 bytes from this process to another one: run it as a main class with the class path of the tests. Arguments: the
 * number of callers, {@code platform} or {@code virtual}, server threads, seconds of a run, runs. Prints calls per second, and the
 * calls of the slowest caller as a share of the mean.
 */
final class ChannelMeasurement {
    private static final int SPINS = 2_000;

    private ChannelMeasurement() {}

    public static void main(String[] arguments) throws InterruptedException {
        int callers = Integer.parseInt(arguments[0]);
        boolean virtual = "virtual".equals(arguments[1]);
        int servers = Integer.parseInt(arguments[2]);
        double seconds = Double.parseDouble(arguments[3]);
        int runs = Integer.parseInt(arguments[4]);
        try (ChannelProcess channel = new ChannelProcess(servers, SPINS)) {
            for (int run = 0; run < runs; run++) {
                run(channel, callers, virtual, servers, seconds);
            }
        }
    }

    private static void run(ChannelProcess channel, int callers, boolean virtual, int servers, double seconds)
            throws InterruptedException {
        AtomicBoolean over = new AtomicBoolean();
        CountDownLatch ended = new CountDownLatch(callers);
        long[] calls = new long[callers];
        long[] longestNs = new long[callers];
        long beginNs = System.nanoTime();
        for (int i = 0; i < callers; i++) {
            int caller = i;
            Runnable loop = () -> {
                MemorySegment request = MemorySegment.ofArray(new byte[Long.BYTES]);
                MemorySegment reply = MemorySegment.ofArray(new byte[Long.BYTES]);
                long count = 0;
                long longest = 0;
                long lastNs = System.nanoTime();
                while (!over.getOpaque()) {
                    int unused = channel.caller.call(request, reply, TimeUnit.SECONDS.toNanos(10));
                    count++;
                    long nowNs = System.nanoTime();
                    longest = Math.max(longest, nowNs - lastNs);
                    lastNs = nowNs;
                }
                calls[caller] = count;
                longestNs[caller] = longest;
                ended.countDown();
            };
            Thread unused = virtual
                    ? Thread.ofVirtual().start(loop)
                    : Thread.ofPlatform().start(loop);
        }
        boolean none = new CountDownLatch(1).await((long) (seconds * 1e9), TimeUnit.NANOSECONDS);
        over.set(!none);
        if (!ended.await(20, TimeUnit.SECONDS)) {
            throw new AssertionError("a caller hangs");
        }
        double took = (System.nanoTime() - beginNs) / 1e9;
        long sum = Arrays.stream(calls).sum();
        System.out.printf(
                "%d %s callers, %d server threads: %,.0f calls/s, slowest caller %.2f of the mean, longest call %.1f ms%n",
                callers,
                virtual ? "virtual" : "platform",
                servers,
                sum / took,
                Arrays.stream(calls).min().orElse(0) * (double) callers / sum,
                Arrays.stream(longestNs).max().orElse(0) / 1e6);
    }
}
