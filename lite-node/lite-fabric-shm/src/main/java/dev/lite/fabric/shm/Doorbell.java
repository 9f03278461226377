package dev.lite.fabric.shm;

import dev.lite.os.Futex;
import dev.lite.os.Linux;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;

/**
 * Tells whether somebody of one node is to be woken, and wakes it. A page of shared memory, mapped by the node and by all its
 * peers: a word that says who sleeps, and a bell for each of the two who may. A bell is a count that only grows, and the
 * futex that its owner sleeps on.
 *
 * <pre>
 *   0    state     int   {@link #AWAKE}: nobody; {@link #STANDING_BY}: ring for the stand-by; {@link #ASLEEP}: for the poller
 *   128  poller    int   rung for the holder of the poll role
 *   256  stand-by  int   rung for the thread that stands by
 * </pre>
 *
 * <p>Nothing is lost: the holder of the poll role stores the state and then looks for work; a sender stores work and then
 * looks at the state. All four are sequentially consistent, so one of the two sees the other. Whoever takes the state back to
 * {@link #AWAKE} rings: it counts the bell up and makes the one system call. A bell that was rung before its owner sleeps
 * does not let it sleep. When the ringer dies in between, the end of its connection {@linkplain #ringBoth rings} again.
 */
final class Doorbell implements AutoCloseable {
    private static final int AWAKE = 0;
    private static final int STANDING_BY = 1;
    private static final int ASLEEP = 2;

    /** Two cache lines: processors fetch them in pairs. */
    private static final int LINE_BYTES = 128;

    private final SharedMemory memory;
    private final long state;
    private final long pollerBell;
    private final long standByBell;

    /** Poll role: how often the poller's bell had rung when it was last looked at. */
    private int pollerHeard;

    /** The thread that stands by: likewise. */
    private int standByHeard;

    private Doorbell(SharedMemory memory) {
        this.memory = memory;
        state = memory.address();
        pollerBell = state + LINE_BYTES;
        standByBell = state + 2 * LINE_BYTES;
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

    /** Any thread of any process that has it mapped: wakes who sleeps. Comes after the work was stored. */
    void ring() {
        int seen = RawMemory.getIntVolatile(state);
        if (seen != AWAKE && RawMemory.compareAndSetInt(state, seen, AWAKE)) {
            ring(seen == ASLEEP ? pollerBell : standByBell);
        }
    }

    /** Any thread: wakes both, now or when they are about to sleep next. */
    void ringBoth() {
        RawMemory.putIntVolatile(state, AWAKE);
        ring(pollerBell);
        ring(standByBell);
    }

    private static void ring(long bell) {
        RawMemory.getAndAddInt(bell, 1);
        Futex.wake(bell, 1);
    }

    /** Poll role: from now on the stand-by is to be woken. Who calls looks for work once more after this. */
    void arm() {
        RawMemory.putIntVolatile(state, STANDING_BY);
    }

    /** Poll role: nobody need be woken any more. A sender that does not see it yet rings in vain. */
    void disarm() {
        RawMemory.putIntRelease(state, AWAKE);
    }

    /** Poll role: from now on the poller is to be woken. It looks for work once more after this. */
    void announceSleep() {
        RawMemory.putIntVolatile(state, ASLEEP);
    }

    /** Poll role: sleeps until its bell rings, or did since it was last heard. */
    void sleep(long timeoutNs) {
        pollerHeard = await(pollerBell, pollerHeard, timeoutNs);
    }

    /** The thread that stands by: sleeps until its bell rings, or did since it was last heard. */
    void standBy(long timeoutNs) {
        standByHeard = await(standByBell, standByHeard, timeoutNs);
    }

    private static int await(long bell, int heard, long timeoutNs) {
        if (timeoutNs > 0 && RawMemory.getIntVolatile(bell) == heard) {
            Futex.await(bell, heard, timeoutNs);
        }
        return RawMemory.getIntVolatile(bell);
    }

    @Override
    public void close() {
        memory.close();
    }
}
