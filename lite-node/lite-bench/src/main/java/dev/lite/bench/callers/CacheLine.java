package dev.lite.bench.callers;

import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;

/**
 * How long a cache line takes to another processor and back. On a virtual machine that depends on where the host runs its processors,
 * and changes within minutes, for example from 0.1 to 0.5 µs. All figures of shared memory follow it.
 */
final class CacheLine {
    private static final int TRIES = 3;
    private static final int TURNS = 50_000;
    private static final long GIVE_UP_NS = 200_000_000;
    /** After so many turns it looks at the clock. */
    private static final int CHECK = 16;

    private static final long PING = 0;
    private static final long PONG = 128;
    private static final long BYTES = 256;

    private CacheLine() {}

    /** Nanoseconds there and back: the least of some tries, because the threads may share a processor in others. */
    static long roundTripNs() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < TRIES; i++) {
            least = Math.min(least, measure());
        }
        return least;
    }

    private static long measure() {
        try (Arena arena = Arena.ofShared()) {
            long base = arena.allocate(BYTES, PONG).address();
            Thread pong = Thread.ofPlatform().daemon().name("pong").start(() -> answer(base));
            long beginNs = System.nanoTime();
            int turn = 0;
            while (turn < TURNS && (turn % CHECK != 0 || System.nanoTime() - beginNs < GIVE_UP_NS)) {
                turn++;
                RawMemory.putIntRelease(base + PING, turn);
                while (RawMemory.getIntAcquire(base + PONG) != turn) {
                    Thread.onSpinWait();
                }
            }
            long ns = (System.nanoTime() - beginNs) / turn;
            RawMemory.putIntRelease(base + PING, -1);
            join(pong);
            return ns;
        }
    }

    private static void answer(long base) {
        int last = 0;
        while (last >= 0) {
            int turn = RawMemory.getIntAcquire(base + PING);
            if (turn == last) {
                Thread.onSpinWait();
            } else {
                last = turn;
                RawMemory.putIntRelease(base + PONG, turn);
            }
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException("the measurement of a cache line was interrupted", e);
        }
    }
}
