package dev.lite.mr.data;

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
