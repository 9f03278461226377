package dev.lite.tier.memory;

/**
 * Allocated bytes in one node's arena: an extent, or a word in an extent of many.
 *
 * @param offset bytes from the start of the arena
 * @param length bytes
 * @param entry the name of the extent's entry in the arena's extent table; no later extent at the same entry has it
 */
public record ExtentRun(long offset, long length, int entry) {}
