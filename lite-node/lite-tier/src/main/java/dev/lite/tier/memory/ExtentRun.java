package dev.lite.tier.memory;

/**
 * Allocated bytes in one node's arena.
 *
 * @param offset bytes from the start of the arena
 * @param length bytes
 * @param entry its entry in the arena's extent table
 */
public record ExtentRun(long offset, long length, int entry) {}
