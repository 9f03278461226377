package dev.lite.fabric.shm;

import dev.lite.os.Futex;
import dev.lite.os.Linux;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import java.nio.file.Path;

/**
 * Wakes the threads of one node that wait for its peers. A page of shared memory, mapped by the node and by all its peers: a state
 * word, and a bell for each of the two threads that may sleep. A bell is a growing counter, and the futex that its owner
 * sleeps on.
 *
 * <pre>
 *   0    state     int   {@link #AWAKE} and {@link #BREAK}: ring no bell; {@link #STANDING_BY}: ring the standby bell;
 *                        {@link #ASLEEP}: the poller's
 *   128  poller    int   rung for the holder of the poll role
 *   256  standby   int   rung for the standby thread
 *   384  left      int   1 when the node has unmapped the memories of its peers; it maps none again
 * </pre>
 *
 * <p>No wake-up is lost: the holder of the poll role stores the state and then checks for work; a sender stores work and then
 * reads the state. All four are sequentially consistent, so one of the two sees the other's store. The sender that resets the
 * state to {@link #AWAKE} increments the bell and makes the one system call. A thread does not sleep if its bell was rung since it
 * last read it. If the sender dies in between, the end of its connection {@linkplain #ringBoth rings} instead.
 */
final class Doorbell implements AutoCloseable {
    private static final int AWAKE = 0;
    private static final int STANDING_BY = 1;
    private static final int ASLEEP = 2;
    /** As {@link #AWAKE}; the standby thread looks how long it lasts. */
    private static final int BREAK = 3;

    /** Two cache lines: processors fetch them in pairs. */
    private static final int LINE_BYTES = 128;

    private final SharedMemory memory;
    private final long state;
    private final long pollerBell;
    private final long standbyBell;
    private final long left;

    /** Poll role: the poller's bell when it was last read. */
    private int pollerSeen;

    /** Standby thread: its bell when it was last read. */
    private int standbySeen;

    private Doorbell(SharedMemory memory) {
        this.memory = memory;
        state = memory.address();
        pollerBell = state + LINE_BYTES;
        standbyBell = state + 2 * LINE_BYTES;
        left = state + 3 * LINE_BYTES;
    }

    /** Creates this node's doorbell. */
    static Doorbell create() {
        return new Doorbell(SharedMemory.createMemfd("lite-doorbell", Linux.pageSize()));
    }

    /** Maps a peer's doorbell; takes ownership of the descriptor. */
    static Doorbell fromDescriptor(int descriptor) {
        return new Doorbell(SharedMemory.fromDescriptor(descriptor, Linux.pageSize(), true));
    }

    /** Maps the same doorbell once more; the result has a life of its own. */
    Doorbell mapAgain() {
        return new Doorbell(SharedMemory.openFile(Path.of("/proc/self/fd/" + descriptor())));
    }

    int descriptor() {
        return memory.descriptor();
    }

    /** Wakes the sleeping thread, if any. Called after the work was stored, by any thread of any process that maps this page. */
    void ring() {
        int seen = RawMemory.getIntVolatile(state);
        if ((seen == STANDING_BY || seen == ASLEEP) && RawMemory.compareAndSetInt(state, seen, AWAKE)) {
            ring(seen == ASLEEP ? pollerBell : standbyBell);
        }
    }

    /** Wakes both threads, now or when they are about to sleep next. Any thread. */
    void ringBoth() {
        RawMemory.putIntVolatile(state, AWAKE);
        ring(pollerBell);
        ring(standbyBell);
    }

    private static void ring(long bell) {
        RawMemory.getAndAddInt(bell, 1);
        Futex.wake(bell, 1);
    }

    /** Poll role: from now on senders wake the standby thread. The caller checks for work once more afterwards. */
    void arm() {
        RawMemory.putIntVolatile(state, STANDING_BY);
    }

    /** Poll role: a break begins, and senders wake no thread. The standby thread looks after it; see {@link #endBreak}. */
    void beginBreak() {
        RawMemory.putIntVolatile(state, BREAK);
    }

    /**
     * Standby thread: if a break lasts, senders wake this thread from now on. The caller then checks for work. Returns whether one
     * lasts.
     */
    boolean endBreak() {
        return RawMemory.compareAndSetInt(state, BREAK, STANDING_BY);
    }

    /** Poll role: from now on senders wake no thread. A sender that does not see this yet rings without need. */
    void disarm() {
        RawMemory.putIntRelease(state, AWAKE);
    }

    /** Poll role: from now on senders wake the poller. The caller checks for work once more afterwards. */
    void announceSleep() {
        RawMemory.putIntVolatile(state, ASLEEP);
    }

    /** Poll role: sleeps until its bell rings, unless it rang since the last sleep. */
    void sleep(long timeoutNs) {
        pollerSeen = await(pollerBell, pollerSeen, timeoutNs);
    }

    /** Standby thread: sleeps until its bell rings, unless it rang since the last sleep. Returns whether it has rung. */
    boolean awaitStandbyBell(long timeoutNs) {
        int seen = standbySeen;
        standbySeen = await(standbyBell, seen, timeoutNs);
        return standbySeen != seen;
    }

    private static int await(long bell, int seen, long timeoutNs) {
        if (timeoutNs > 0 && RawMemory.getIntVolatile(bell) == seen) {
            Futex.await(bell, seen, timeoutNs);
        }
        return RawMemory.getIntVolatile(bell);
    }

    /** Announces that this node has unmapped the memories of its peers, for ever. */
    void leave() {
        RawMemory.putIntVolatile(left, 1);
    }

    /** Whether the owner of this doorbell has unmapped the memories of its peers. */
    boolean hasLeft() {
        return RawMemory.getIntVolatile(left) != 0;
    }

    @Override
    public void close() {
        memory.close();
    }
}
