package dev.lite.mr.data;

import dev.lite.api.LmrHandle;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.mr.job.Slice;
import java.lang.foreign.MemorySegment;

/** Reads the pairs of a run in their order, piece by piece with LT_read. Holds one piece in memory. One thread. */
public final class RunReader {
    private final LtMemory memory;
    private final Run run;
    private final Slice key = new Slice();
    private final Slice value = new Slice();
    private byte[] piece = {};
    private int at;
    private int end;
    private int nextPiece;

    /** Creates a reader before the first pair. */
    public RunReader(LtMemory memory, Run run) {
        this.memory = memory;
        this.run = run;
    }

    /**
     * Moves to the next pair; false if there is none.
     *
     * @throws dev.lite.api.LiteException if a piece cannot be read, for example because its worker has ended
     */
    public boolean next() {
        while (at == end) {
            if (nextPiece == run.pieces().size()) {
                return false;
            }
            load(run.pieces().get(nextPiece++));
        }
        at = Run.get(piece, at, key, value);
        return true;
    }

    private void load(Run.Piece next) {
        if (piece.length < next.bytes()) {
            piece = new byte[next.bytes()];
        }
        read(memory, next, piece);
        at = 0;
        end = next.bytes();
    }

    /** Copies a piece to the beginning of an array. */
    static void read(LtMemory memory, Run.Piece piece, byte[] target) {
        try (LmrHandle lmr = memory.map(piece.id(), Permission.READ)) {
            lmr.read(0, MemorySegment.ofArray(target).asSlice(0, piece.bytes()));
        }
    }

    /** The current key, valid until {@link #next}. */
    public Slice key() {
        return key;
    }

    /** The current value, valid until {@link #next}. */
    public Slice value() {
        return value;
    }
}
