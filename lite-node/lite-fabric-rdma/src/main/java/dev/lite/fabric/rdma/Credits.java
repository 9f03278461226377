package dev.lite.fabric.rdma;

import dev.lite.os.RawMemory;

/**
 * Credits for immediates to a peer. Each immediate uses one of the peer's receives, and the peer writes to this memory
 * how many it took and replaced. Guarded by the lane's lock.
 */
final class Credits {
    private final int count;
    private final long word;
    private int sent;
    private int limit;

    /**
     * @param count the number of credits
     * @param word the address of the word that the peer writes; holds 0
     */
    Credits(int count, long word) {
        this.count = count;
        this.word = word;
        limit = count;
    }

    /** Whether a credit is available. */
    boolean available() {
        if (sent != limit) {
            return true;
        }
        limit = count + (int) RawMemory.getLongAcquire(word);
        return sent != limit;
    }

    /** Takes an available credit. */
    void take() {
        sent++;
    }
}
