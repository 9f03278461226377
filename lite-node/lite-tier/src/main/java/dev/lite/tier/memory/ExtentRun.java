package dev.lite.tier.memory;

/**
 * Allocated bytes in one node's arena.
 *
 * @param offset bytes from the start of the arena
 * @param length bytes
 * @param entry the name of its entry in the arena's extent table, which no later extent at the same entry has
 */
public record ExtentRun(long offset, long length, int entry) {}
