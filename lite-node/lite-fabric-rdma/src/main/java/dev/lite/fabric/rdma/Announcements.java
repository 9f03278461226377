package dev.lite.fabric.rdma;

import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.os.DuplicateDescriptor;

/**
 * What the device announces of the completion queue, on a channel, for threads that wait without polling the queue. It announces one
 * completion after it was asked to: the next of any kind, or only the next <i>arrival</i>, which is a message or an immediate of a
 * peer, or an error. While nothing of this node's own is under way, it is asked for arrivals only. So a caller that waits for the end of
 * its own write by polling leaves the question where it is, and both taking and leaving the poll role are no system call.
 *
 * <p><b>Nothing is missed.</b> A thread that stops polling sets a flag first ({@link #startRelying}), then counts the outstanding requests,
 * and asks. A thread that posts counts its request first, then reads that flag, asks for the next completion of any kind if it is set
 * ({@link #beforePost}), and only then posts. All four are sequentially consistent, so one of the two sees the other's write.
 */
final class Announcements implements AutoCloseable {
    private static final int NOTHING = 0;
    private static final int ARRIVALS = 1;
    private static final int ANYTHING = 2;

    private final Verbs verbs;
    private final long channel;
    private final long queue;
    private final Lanes lanes;
    private final DuplicateDescriptor descriptor;

    /** Whether no thread polls the queue. Written by the poll role. */
    private volatile boolean relied;

    /** What the device was asked for and, as far as is known, has not announced. Written under this object's lock. */
    private volatile int asked;

    /** Whether there may be an announcement to be taken. */
    private volatile boolean announced;

    /** Poll role: whether there was one when the queue was last left. */
    private boolean usual;

    /**
     * @param channel on which the queue's completions are announced
     * @param lanes those whose completions go to the queue
     */
    Announcements(Verbs verbs, long channel, long queue, Lanes lanes) {
        this.verbs = verbs;
        this.channel = channel;
        this.queue = queue;
        this.lanes = lanes;
        descriptor = DuplicateDescriptor.of(Verbs.completionChannelDescriptor(channel));
    }

    /** What is readable when there is an announcement; this object's. */
    DuplicateDescriptor descriptor() {
        return descriptor;
    }

    /** Poll role: from now on no thread polls the queue; {@link #ask} follows. */
    void startRelying() {
        relied = true;
    }

    /** Poll role: a thread polls the queue again. */
    void stopRelying() {
        relied = false;
    }

    /**
     * Poll role, after {@link #startRelying}: makes sure that what comes is announced.
     *
     * @return whether the device was asked anew, so that the queue may hold what it will not announce
     */
    boolean ask() {
        usual = announced;
        if (usual) {
            takeAnnouncement();
        }
        return ask(lanes.areUnderWay() ? ANYTHING : ARRIVALS);
    }

    /** A request is counted as under way and will now be posted. Any thread, while the queue cannot be closed. */
    void beforePost() {
        if (relied && asked != ANYTHING) {
            boolean unused = ask(ANYTHING);
        }
    }

    private boolean ask(int wanted) {
        return asked < wanted && askDevice(wanted);
    }

    /** Under a lock, so that no thread asks for less just after another one asked for more. */
    private synchronized boolean askDevice(int wanted) {
        if (asked >= wanted) {
            return false;
        }
        verbs.requestNotification(queue, wanted == ARRIVALS);
        asked = wanted;
        return true;
    }

    private synchronized void takeAnnouncement() {
        // One that arrives later wakes a thread, which calls announced().
        announced = false;
        if (verbs.takeNotification(channel)) {
            verbs.acknowledge(queue, 1);
            asked = NOTHING;
        }
    }

    /** Poll role: took a completion, which was perhaps announced. */
    void took(boolean arrival) {
        if ((arrival || asked == ANYTHING) && !announced) {
            announced = true;
        }
    }

    /** The channel was readable. Any thread. */
    void came() {
        announced = true;
    }

    /** Poll role: whether something will probably be announced while a thread polls, as it was the last time. */
    boolean isUsual() {
        return usual;
    }

    @Override
    public void close() {
        descriptor.close();
    }
}
