package dev.lite.demo.app;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.os.waiting.Polling;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * What the applications share beside the file: words of a small named LMR, changed and looked at by atomic adds only, and the
 * {@link Tally}, which a lock guards.
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
        /** Bytes that were read back. */
        READ(1 * WORD_SPACING),
        /** Words that were counted, by all together: the shared word of the demo. */
        WORDS(2 * WORD_SPACING),
        /** How often the lock's fencing token had not grown since the last entry into the tally. */
        STALE_TOKENS(3 * WORD_SPACING);

        private final long offset;

        Word(long offset) {
            this.offset = offset;
        }
    }

    // After the words: the tally's three numbers and the last fencing token, changed under the lock only.
    private static final long TALLY = Word.values().length * WORD_SPACING;
    private static final long TALLY_BYTES = 4 * Long.BYTES;
    private static final long BYTES = TALLY + TALLY_BYTES;

    private final LmrHandle lmr;

    private Control(LmrHandle lmr) {
        this.lmr = lmr;
    }

    /** Makes the LMR; whoever has its name may use it. */
    static Control create(LtMemory memory) {
        LmrSpec spec = LmrSpec.of(BYTES)
                .withName(NAME)
                .withPlacement(Placement.roundRobin())
                .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC);
        return new Control(memory.malloc(spec));
    }

    /** Maps the LMR as soon as the application that stores the file has made it. */
    static Control await(LtMemory memory, Duration deadline) {
        long endNs = System.nanoTime() + deadline.toNanos();
        while (true) {
            try {
                return new Control(memory.map(NAME, Permission.READ, Permission.WRITE, Permission.ATOMIC));
            } catch (LmrNotFoundException e) {
                if (System.nanoTime() - endNs >= 0) {
                    throw new DemoException(
                            "no application has made the LMR %s within %s".formatted(NAME, deadline), e);
                }
                Polling.sleepNs(10 * POLL_NS);
            }
        }
    }

    long add(Word word, long delta) {
        return lmr.fetchAdd(word.offset, delta) + delta;
    }

    long get(Word word) {
        return lmr.fetchAdd(word.offset, 0);
    }

    /** Adds to the tally. The caller holds the lock. */
    void enter(Tally part, long fencingToken) {
        byte[] written = readTally();
        ByteBuffer bytes = ByteBuffer.wrap(written);
        Tally sum = decode(bytes).plus(part);
        if (fencingToken <= bytes.getLong(3 * Long.BYTES)) {
            add(Word.STALE_TOKENS, 1);
        }
        bytes.putLong(0, sum.extents())
                .putLong(Long.BYTES, sum.bytes())
                .putLong(2 * Long.BYTES, sum.words())
                .putLong(3 * Long.BYTES, fencingToken);
        lmr.write(TALLY, written);
    }

    /** The tally; nobody changes it just now. */
    Tally tally() {
        return decode(ByteBuffer.wrap(readTally()));
    }

    private byte[] readTally() {
        byte[] bytes = new byte[(int) TALLY_BYTES];
        lmr.read(TALLY, bytes);
        return bytes;
    }

    private static Tally decode(ByteBuffer bytes) {
        return new Tally(bytes.getLong(0), bytes.getLong(Long.BYTES), bytes.getLong(2 * Long.BYTES));
    }

    /** Ends the LMR for everybody. */
    void free() {
        lmr.free();
    }

    @Override
    public void close() {
        lmr.close();
    }
}
