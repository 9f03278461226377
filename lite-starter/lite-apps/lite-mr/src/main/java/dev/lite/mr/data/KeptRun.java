package dev.lite.mr.data;

import dev.lite.api.LtMemory;
import dev.lite.mr.job.Slice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A copy of a run in the heap, with few objects however many pairs it has. Immutable. */
public final class KeptRun {
    private static final int PLACES_FIRST = 1024;

    private final List<byte[]> pieces;
    /** Of each pair: the piece in the upper half, where it begins there in the lower. */
    private final long[] places;

    private KeptRun(List<byte[]> pieces, long[] places) {
        this.pieces = pieces;
        this.places = places;
    }

    /**
     * Reads a run.
     *
     * @throws dev.lite.api.LiteException if a piece cannot be read, for example because its worker has ended
     */
    public static KeptRun read(LtMemory memory, Run run) {
        List<byte[]> pieces = new ArrayList<>();
        long[] places = new long[PLACES_FIRST];
        int count = 0;
        for (Run.Piece next : run.pieces()) {
            byte[] piece = new byte[next.bytes()];
            RunReader.read(memory, next, piece);
            for (int at = 0; at < piece.length; at = Run.after(piece, at)) {
                if (count == places.length) {
                    places = Arrays.copyOf(places, 2 * count);
                }
                places[count++] = ((long) pieces.size() << Integer.SIZE) | at;
            }
            pieces.add(piece);
        }
        return new KeptRun(pieces, Arrays.copyOf(places, count));
    }

    /** The number of pairs. */
    public int count() {
        return places.length;
    }

    /** Gives the pair with this index; the slices share its bytes. */
    public void get(int index, Slice key, Slice value) {
        byte[] piece = pieces.get((int) (places[index] >>> Integer.SIZE));
        Run.get(piece, (int) places[index], key, value);
    }
}
