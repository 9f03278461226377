package dev.lite.demo.app;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * How the two applications hand over to each other: words of a small named LMR, each of which only grows, changed and
 * looked at by atomic adds only. Waiting ends at the deadline without progress of the other side, so that a large file may
 * take as long as it takes.
 */
final class Control implements AutoCloseable {

    /** The name of the LMR that holds the file. */
    static final String FILE = "demo/file";

    private static final String NAME = "demo/control";
    private static final long WORD_SPACING = 64;
    private static final long POLL_NS = TimeUnit.MILLISECONDS.toNanos(2);

    /** The words; each has a cache line of its own. */
    enum Word {
        /** Bytes of the file that are in remote memory. */
        STORED(0 * WORD_SPACING),
        /** Bytes that were read back, by both together. */
        READ(1 * WORD_SPACING),
        /** Words that were counted, by both together: the shared word of the demo. */
        WORDS(2 * WORD_SPACING),
        /** How many applications have added their words. */
        COUNTED(3 * WORD_SPACING),
        /** How many applications need the LMRs no more. */
        LEFT(4 * WORD_SPACING);

        private final long offset;

        Word(long offset) {
            this.offset = offset;
        }
    }

    private static final long BYTES = Word.values().length * WORD_SPACING;

    private final LmrHandle lmr;
    private final long deadlineNs;

    private Control(LmrHandle lmr, Duration deadline) {
        this.lmr = lmr;
        this.deadlineNs = deadline.toNanos();
    }

    /** Makes the LMR; whoever has its name may use it. */
    static Control create(LtMemory memory, Duration deadline) {
        LmrSpec spec = LmrSpec.of(BYTES)
                .withName(NAME)
                .withPlacement(Placement.roundRobin())
                .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC);
        return new Control(memory.malloc(spec), deadline);
    }

    /** Maps the LMR as soon as the other application has made it. */
    static Control await(LtMemory memory, Duration deadline) {
        long endNs = System.nanoTime() + deadline.toNanos();
        while (true) {
            try {
                return new Control(memory.map(NAME, Permission.READ, Permission.WRITE, Permission.ATOMIC), deadline);
            } catch (LmrNotFoundException e) {
                if (System.nanoTime() - endNs >= 0) {
                    throw new DemoException(
                            "the other application has not made the LMR %s within %s".formatted(NAME, deadline), e);
                }
                LockSupport.parkNanos(10 * POLL_NS);
            }
        }
    }

    long add(Word word, long delta) {
        return lmr.fetchAdd(word.offset, delta) + delta;
    }

    long get(Word word) {
        return lmr.fetchAdd(word.offset, 0);
    }

    /** Waits until the word has reached {@code target}. */
    void awaitAtLeast(Word word, long target) {
        long progress = -1;
        long endNs = 0;
        while (get(word) < target) {
            long progressNow = get(Word.STORED) + get(Word.READ) + get(Word.COUNTED);
            long nowNs = System.nanoTime();
            if (progressNow != progress) {
                progress = progressNow;
                endNs = nowNs + deadlineNs;
            } else if (nowNs - endNs >= 0) {
                throw new DemoException("the other application has made no progress for %s: %s is %,d of %,d"
                        .formatted(Duration.ofNanos(deadlineNs), word, get(word), target));
            }
            LockSupport.parkNanos(POLL_NS);
        }
    }

    /** Ends the LMR for both. */
    void free() {
        lmr.free();
    }

    @Override
    public void close() {
        lmr.close();
    }
}
