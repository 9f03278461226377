package dev.lite.mr.data;

import dev.lite.mr.job.Slice;
import java.util.List;

/**
 * A sorted sequence of pairs in LMRs: {@code key length, value length, key, value} each. A pair lies in one piece.
 *
 * @param pieces in the order of their keys
 */
public record Run(List<Piece> pieces) {
    /** The longest piece, in bytes. */
    public static final int PIECE_BYTES_MAX = 4 << 20;

    static final int HEAD = 2 * Integer.BYTES;

    /** Gives the pair at a place of a piece; returns where it ends. */
    static int get(byte[] piece, int at, Slice key, Slice value) {
        int keyLength = (int) Bytes.INT.get(piece, at);
        int valueLength = (int) Bytes.INT.get(piece, at + Integer.BYTES);
        key.set(piece, at + HEAD, keyLength);
        value.set(piece, at + HEAD + keyLength, valueLength);
        return at + HEAD + keyLength + valueLength;
    }

    /** Where the pair at a place of a piece ends. */
    static int after(byte[] piece, int at) {
        return at + HEAD + (int) Bytes.INT.get(piece, at) + (int) Bytes.INT.get(piece, at + Integer.BYTES);
    }

    /** Copies the list. */
    public Run {
        pieces = List.copyOf(pieces);
    }

    /**
     * A part of a run.
     *
     * @param id the LMR's id
     * @param bytes the LMR's size
     */
    public record Piece(long id, int bytes) {}

    /** The size of the run, in bytes. */
    public long bytes() {
        return pieces.stream().mapToLong(Piece::bytes).sum();
    }
}
