package dev.lite.tier.memory;

/**
 * Allocated bytes in one node's arena: an extent, or a word in an extent of many.
 *
 * @param offset bytes from the start of the arena
 * @param length bytes
 * @param entry the entry of the extent in the arena's extent table
 */
public record ExtentRun(long offset, long length, int entry) {}
