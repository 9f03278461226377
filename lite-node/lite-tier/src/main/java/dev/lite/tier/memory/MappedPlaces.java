package dev.lite.tier.memory;

import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.fabric.AddressRange;
import dev.lite.tier.RemoteWork.Part;
import java.util.UUID;

/** The places of a mapped LMR's bytes. Immutable; owns the array. */
final class MappedPlaces {
    private final LmrRecord lmr;
    private final int chunkShift;
    private final long[] places;

    /** Whether every chunk is mapped into this process. */
    private final boolean direct;

    MappedPlaces(LmrRecord lmr, long[] places) {
        this.lmr = lmr;
        this.chunkShift = lmr.chunkShift();
        this.places = places;
        boolean allMapped = true;
        for (long place : places) {
            allMapped &= !Layout.isRemote(place);
        }
        this.direct = allMapped;
    }

    LmrRecord lmr() {
        return lmr;
    }

    boolean isDirect() {
        return direct;
    }

    long onlyAddress() {
        return direct && places.length == 1 ? places[0] : 0;
    }

    /** The place of a byte: see {@link Layout}. */
    long place(long offset) {
        long place = places[(int) (offset >>> chunkShift)];
        return place + (offset & ((1L << chunkShift) - 1));
    }

    /** How many bytes from {@code offset} on are contiguous. */
    long pieceLength(long offset, long length) {
        return Math.min(length, (1L << chunkShift) - (offset & ((1L << chunkShift) - 1)));
    }

    /** How many bytes before {@code end} are contiguous. */
    long pieceLengthBefore(long end, long length) {
        return Math.min(length, ((end - 1) & ((1L << chunkShift) - 1)) + 1);
    }

    /** Whether a chunk is mapped within a range of addresses. */
    boolean isIn(AddressRange range) {
        for (long place : places) {
            if (!Layout.isRemote(place) && range.contains(place)) {
                return true;
            }
        }
        return false;
    }

    /** The same places, but chunks that are mapped within a range of addresses are reached through a fabric. */
    long[] outside(AddressRange range) {
        long[] outside = Layout.places(lmr, node -> 0);
        for (int chunk = 0; chunk < places.length; chunk++) {
            if (Layout.isRemote(places[chunk]) || !range.contains(places[chunk])) {
                outside[chunk] = places[chunk];
            }
        }
        return outside;
    }

    UUID arenaOf(long place) {
        return share(Layout.nodeOf(place)).arena();
    }

    private Share share(int node) {
        for (int index = 0; index < lmr.shares().size(); index++) {
            if (lmr.shares().get(index).node() == node) {
                return lmr.shares().get(index);
            }
        }
        throw new IllegalStateException("LMR %d has no share on node %d".formatted(lmr.id(), node));
    }

    /** A byte's place on the node that holds it. */
    Part part(long offset) {
        return Layout.part(lmr, offset);
    }

    /** {@link #part} as a run that starts there. */
    Run run(long offset, long length) {
        Part part = part(offset);
        return new Run(part.offset(), length, part.entry());
    }
}
