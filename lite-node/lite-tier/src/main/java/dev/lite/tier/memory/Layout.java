package dev.lite.tier.memory;

import dev.lite.api.Extent;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.tier.RemoteWork.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;

/** Arithmetic of chunks: where each byte of an LMR lies. */
public final class Layout {
    /** The bytes of a chunk of a large LMR. */
    public static final int CHUNK_SHIFT_DEFAULT = 22;

    private static final int CHUNK_SHIFT_MIN = 12;

    /** The chunk shift of an LMR that is one extent. */
    private static final int ONE_EXTENT_SHIFT = 62;

    // A place is a raw address of this process, which is never negative, or this bit, a node id and an arena offset.
    private static final long REMOTE = Long.MIN_VALUE;
    private static final int NODE_SHIFT = 48;
    private static final long OFFSET_MASK = (1L << NODE_SHIFT) - 1;
    private static final int NODE_MASK = (1 << 15) - 1;

    private Layout() {}

    /**
     * The chunk shift for a new LMR. It is one extent if it is small, or on a single node and not larger than a chunk.
     * Otherwise chunks have 4 MiB, or less if an LMR on several nodes would not reach them all.
     */
    public static int chunkShift(long size, int nodes) {
        int shift = CHUNK_SHIFT_DEFAULT;
        if (nodes > 1) {
            // The largest power of two up to a node's share, so that every node gets a chunk.
            int enough = Long.SIZE - 1 - Long.numberOfLeadingZeros(Math.max(1, size / nodes));
            shift = Math.clamp(enough, CHUNK_SHIFT_MIN, CHUNK_SHIFT_DEFAULT);
        }
        return size <= 1L << shift ? ONE_EXTENT_SHIFT : shift;
    }

    static long remotePlace(int node, long offset) {
        return REMOTE | (long) node << NODE_SHIFT | offset;
    }

    static boolean isRemote(long place) {
        return place < 0;
    }

    static int nodeOf(long place) {
        return (int) (place >>> NODE_SHIFT) & NODE_MASK;
    }

    static long offsetOf(long place) {
        return place & OFFSET_MASK;
    }

    /**
     * The place of every chunk.
     *
     * @param bases node id → the address of its arena in this process, or 0 if not mapped
     */
    public static long[] places(LmrRecord lmr, IntToLongFunction bases) {
        int chunks = lmr.chunks();
        int shares = lmr.shares().size();
        long[] places = new long[chunks];
        for (int index = 0; index < shares; index++) {
            Share share = lmr.shares().get(index);
            long base = bases.applyAsLong(share.node());
            int chunk = index;
            for (Run run : share.runs()) {
                long chunkBytes = Math.min(1L << lmr.chunkShift(), run.length());
                for (long at = 0; at < run.length() && chunk < chunks; at += chunkBytes) {
                    long offset = run.offset() + at;
                    places[chunk] = base != 0 ? base + offset : remotePlace(share.node(), offset);
                    chunk += shares;
                }
            }
            if (chunk < chunks) {
                throw new IllegalArgumentException(
                        "LMR %d: node %d holds fewer chunks than its record of %d bytes needs"
                                .formatted(lmr.id(), share.node(), lmr.size()));
            }
        }
        return places;
    }

    /** The place of a byte on the node that holds it. */
    public static Part part(LmrRecord lmr, long offset) {
        int shares = lmr.shares().size();
        long chunk = offset >>> lmr.chunkShift();
        Share share = lmr.shares().get((int) (chunk % shares));
        long left = chunk / shares; // chunks of the share before this one
        for (Run run : share.runs()) {
            long chunkBytes = Math.min(1L << lmr.chunkShift(), run.length());
            long chunks = Math.ceilDiv(run.length(), chunkBytes);
            if (left < chunks) {
                long at = run.offset() + left * chunkBytes + (offset & ((1L << lmr.chunkShift()) - 1));
                return new Part(share.node(), share.arena(), lmr.id(), at, run.entry());
            }
            left -= chunks;
        }
        throw new IllegalArgumentException("LMR %d of %d bytes has no byte %d".formatted(lmr.id(), lmr.size(), offset));
    }

    /** The extents of the LMR in order, with the nodes' names; merges neighbours on one node. */
    public static List<Extent> extents(LmrRecord lmr, IntFunction<String> names) {
        int shares = lmr.shares().size();
        if (shares == 1) {
            return List.of(new Extent(names.apply(lmr.shares().getFirst().node()), 0, lmr.size()));
        }
        long chunkBytes = 1L << lmr.chunkShift();
        List<Extent> extents = new ArrayList<>();
        for (int chunk = 0; chunk < lmr.chunks(); chunk++) {
            long offset = chunk * chunkBytes;
            int node = lmr.shares().get(chunk % shares).node();
            extents.add(new Extent(names.apply(node), offset, Math.min(chunkBytes, lmr.size() - offset)));
        }
        return extents;
    }
}
