package dev.lite.api;

import java.lang.foreign.MemorySegment;

/**
 * One piece of a vectored read or write.
 *
 * @param offset in the LMR, bytes
 * @param segment all of it is filled or written
 */
public record LmrSlice(long offset, MemorySegment segment) {}
