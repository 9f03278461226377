package dev.lite.tier.sync;

import java.util.UUID;

/**
 * The location of the word of a lock or a barrier; the same on every node.
 *
 * @param home the node that holds the word and keeps the queue
 * @param arena the id of that node's arena
 * @param lmrId the internal LMR; identifies the lock or barrier in messages
 * @param offset bytes from the start of the arena
 * @param entry the entry of the word's extent in the arena's extent table
 */
public record WordRef(int home, UUID arena, long lmrId, long offset, int entry) {}
