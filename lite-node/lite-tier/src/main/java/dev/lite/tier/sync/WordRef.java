package dev.lite.tier.sync;

import java.util.UUID;

/**
 * Where the word of a lock or a barrier lies; the same on every node.
 *
 * @param home the node that holds it, and keeps the queue
 * @param arena which arena of that node
 * @param lmrId the internal LMR; names the lock or barrier in messages
 * @param offset bytes from the start of the arena
 * @param entry where the arena's extent table has it
 */
public record WordRef(int home, UUID arena, long lmrId, long offset, int entry) {}
