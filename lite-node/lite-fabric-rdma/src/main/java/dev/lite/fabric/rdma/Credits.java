package dev.lite.fabric.rdma;

import dev.lite.os.RawMemory;

/**
 * How many immediates may go to a peer: each takes one of its receives, and it writes here how many it took and replaced. Guarded
 * by the lane's lock.
 */
final class Credits {
    private final int count;
    private final long word;
    private int sent;
    private int limit;

    /**
     * @param count how many there are
     * @param word the address of what the peer writes; holds 0
     */
    Credits(int count, long word) {
        this.count = count;
        this.word = word;
        limit = count;
    }

    /** Whether there is one. */
    boolean available() {
        if (sent != limit) {
            return true;
        }
        limit = count + (int) RawMemory.getLongAcquire(word);
        return sent != limit;
    }

    /** Takes one that is available. */
    void take() {
        sent++;
    }
}
