package dev.lite.fabric.shm;

import dev.lite.os.Futex;
import dev.lite.os.Linux;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;

/**
 * Tells whether the poller of one node sleeps, and wakes it. A page of shared memory, mapped by the node and by all its peers,
 * with one word in it.
 *
 * <p>Nothing is lost: the poller stores {@link #ASLEEP} and then looks for work; a sender stores work and then looks for
 * {@code ASLEEP}. All four are sequentially consistent, so one of the two sees the other. Whoever takes the word back
 * to {@link #AWAKE} makes the one system call. When it dies in between, the end of its connection rings again.
 */
final class Doorbell implements AutoCloseable {
    private static final int AWAKE = 0;
    private static final int ASLEEP = 1;

    private final SharedMemory memory;
    private final long word;

    private Doorbell(SharedMemory memory) {
        this.memory = memory;
        word = memory.address();
    }

    /** This node's own. */
    static Doorbell create() {
        return new Doorbell(SharedMemory.createMemfd("lite-doorbell", Linux.pageSize()));
    }

    /** A peer's; takes the descriptor over. */
    static Doorbell fromDescriptor(int descriptor) {
        return new Doorbell(SharedMemory.fromDescriptor(descriptor, Linux.pageSize(), true));
    }

    int descriptor() {
        return memory.descriptor();
    }

    /** Any thread of any process that has it mapped: wakes the poller when it sleeps. Comes after the work was stored. */
    void ring() {
        if (RawMemory.getIntVolatile(word) == ASLEEP && RawMemory.compareAndSetInt(word, ASLEEP, AWAKE)) {
            Futex.wake(word, 1);
        }
    }

    /** The poller: from now on it is to be woken. It looks for work once more after this. */
    void announceSleep() {
        RawMemory.putIntVolatile(word, ASLEEP);
    }

    /** The poller: sleeps until somebody rings, or rang since {@link #announceSleep}. */
    void sleep(long timeoutNs) {
        Futex.await(word, ASLEEP, timeoutNs);
    }

    /** The poller: need not be woken any more. */
    void announceAwake() {
        RawMemory.putIntVolatile(word, AWAKE);
    }

    @Override
    public void close() {
        memory.close();
    }
}
