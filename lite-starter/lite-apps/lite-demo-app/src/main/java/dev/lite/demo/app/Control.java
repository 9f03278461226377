package dev.lite.demo.app;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The applications' shared state besides the file: words of a small named LMR, read and changed by atomic adds only, and
 * the {@link Tally}, which a lock guards.
 */
final class Control implements AutoCloseable {

    /** The name of the LMR that holds the file. */
    static final String FILE = "demo/file";

    private static final String NAME = "demo/control";
    private static final long WORD_SPACING = 64;
    private static final long POLL_NS = TimeUnit.MILLISECONDS.toNanos(2);

    /** The words; each has its own cache line. */
    enum Word {
        /** Bytes of the file written to remote memory. */
        STORED(0 * WORD_SPACING),
        /** Bytes read back. */
        READ(1 * WORD_SPACING),
        /** Words counted by all applications: the shared word of the demo. */
        WORDS(2 * WORD_SPACING),
        /** How often the lock's fencing token was not larger than that of the previous update of the tally. */
        STALE_TOKENS(3 * WORD_SPACING);

        private final long offset;

        Word(long offset) {
            this.offset = offset;
        }
    }

    // After the words: the tally's three numbers and the last fencing token, changed only under the lock.
    private static final long TALLY = Word.values().length * WORD_SPACING;
    private static final long TALLY_BYTES = 4 * Long.BYTES;
    private static final long BYTES = TALLY + TALLY_BYTES;

    private final LmrHandle lmr;

    private Control(LmrHandle lmr) {
        this.lmr = lmr;
    }

    /** Creates the LMR with full permissions for everyone. */
    static Control create(LtMemory memory) {
        LmrSpec spec = LmrSpec.of(BYTES)
                .withName(NAME)
                .withPlacement(Placement.roundRobin())
                .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC);
        return new Control(memory.malloc(spec));
    }

    /** Maps the LMR as soon as the application that stores the file has created it. */
    static Control await(LtMemory memory, Duration deadline) {
        long endNs = System.nanoTime() + deadline.toNanos();
        while (true) {
            try {
                return new Control(memory.map(NAME, Permission.READ, Permission.WRITE, Permission.ATOMIC));
            } catch (LmrNotFoundException e) {
                if (System.nanoTime() - endNs >= 0) {
                    throw new DemoException(
                            "no application has created the LMR %s within %s".formatted(NAME, deadline), e);
                }
                LockSupport.parkNanos(memory, 10 * POLL_NS);
            }
        }
    }

    long add(Word word, long delta) {
        return lmr.fetchAdd(word.offset, delta) + delta;
    }

    long get(Word word) {
        return lmr.fetchAdd(word.offset, 0);
    }

    /** Adds to the tally. The caller must hold the lock. */
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

    /** The tally; must not be called while it is being changed. */
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

    /** Frees the LMR. */
    void free() {
        lmr.free();
    }

    @Override
    public void close() {
        lmr.close();
    }
}
