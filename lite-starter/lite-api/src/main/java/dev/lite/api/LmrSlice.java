package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * One piece of a vectored read or write.
 *
 * @param offset the offset in the LMR, in bytes
 * @param segment the caller's memory; a read fills all of it, a write stores all of it
 */
public record LmrSlice(long offset, MemorySegment segment) {
    /** Checks that there is a segment. */
    public LmrSlice {
        Objects.requireNonNull(segment, "segment");
    }
}
