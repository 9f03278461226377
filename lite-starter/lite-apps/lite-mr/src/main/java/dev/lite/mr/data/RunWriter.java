package dev.lite.mr.data;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.mr.job.Slice;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Writes a run into anonymous LMRs of this session, which every principal may read. The writer owns the LMRs until {@link #free}; the end
 * of the session frees them, too. One thread.
 */
public final class RunWriter implements Table.Sink {
    private static final int BYTES_FIRST = 64 << 10;
    private static final int PIECE_BYTES_MIN = 128 << 10;

    private final LtMemory memory;
    private final List<LmrHandle> written = new ArrayList<>();
    private byte[] buffer = new byte[BYTES_FIRST];
    private int used;

    /** Creates a writer that has allocated nothing. */
    public RunWriter(LtMemory memory) {
        this.memory = memory;
    }

    /**
     * Takes a pair.
     *
     * @throws LimitExceededException if there is no memory for what was taken so far; the caller frees the writer
     * @throws UnwrittenException if that cannot be written for another reason; the caller frees the writer
     */
    @Override
    public void add(Slice key, Slice value) {
        int bytes = Run.HEAD + key.length() + value.length();
        if (used + bytes > buffer.length) {
            if (used + bytes > Run.PIECE_BYTES_MAX) {
                flush();
            }
            if (used + bytes > buffer.length) {
                buffer =
                        Arrays.copyOf(buffer, Math.min(Run.PIECE_BYTES_MAX, Math.max(buffer.length * 4, used + bytes)));
            }
        }
        Bytes.INT.set(buffer, used, key.length());
        Bytes.INT.set(buffer, used + Integer.BYTES, value.length());
        int at = used + Run.HEAD;
        Bytes.copy(key.array(), key.offset(), buffer, at, key.length());
        Bytes.copy(value.array(), value.offset(), buffer, at + key.length(), value.length());
        used += bytes;
    }

    private void flush() {
        if (used > 0) {
            write(0, used);
            used = 0;
        }
    }

    /** Writes pairs into one LMR, or into several smaller ones if the arena has no run of memory of this length. */
    private void write(int start, int end) {
        LmrSpec spec = LmrSpec.of(end - start).withDefaultPermissions(Permission.READ);
        try {
            written.add(memory.register(spec, MemorySegment.ofArray(buffer).asSlice(start, end - start)));
        } catch (LimitExceededException e) {
            int middle = middle(start, end);
            if (end - start < PIECE_BYTES_MIN || middle == end) {
                throw e;
            }
            write(start, middle);
            write(middle, end);
        } catch (LiteException e) {
            throw new UnwrittenException(e);
        }
    }

    /** Where the first pair ends that reaches the middle. */
    private int middle(int start, int end) {
        int at = start;
        while (at < start + (end - start) / 2) {
            at = Run.after(buffer, at);
        }
        return at;
    }

    /**
     * Writes what is left.
     *
     * @throws LimitExceededException if there is no memory for it; the caller frees the writer
     * @throws UnwrittenException if it cannot be written for another reason; the caller frees the writer
     */
    public Run finish() {
        flush();
        buffer = new byte[0];
        return new Run(written.stream()
                .map(lmr -> new Run.Piece(lmr.id(), Math.toIntExact(lmr.size())))
                .toList());
    }

    /** Frees all LMRs of the run. A second call does nothing. */
    public void free() {
        for (LmrHandle lmr : written) {
            try {
                lmr.free();
            } catch (LiteException e) {
                // The session has ended, which frees it; or it was freed already.
            }
        }
        written.clear();
    }
}
