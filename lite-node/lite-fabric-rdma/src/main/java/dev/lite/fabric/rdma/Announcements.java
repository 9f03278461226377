package dev.lite.fabric.rdma;

import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.os.DuplicateDescriptor;

/**
 * Announcements of completions on the device's channel, for threads that wait without polling the queue. Once armed,
 * the device announces one completion: the next of any kind, or only the next <i>arrival</i>: a peer's message or
 * immediate, or an error. While none of this node's own requests is in flight, the device is armed only for arrivals.
 * So a caller that polls for the completion of its own write leaves the device armed, and taking and releasing the poll
 * role needs no system call.
 *
 * <p><b>No completion is missed.</b> A thread that stops polling first sets a flag ({@link #startRelying}), then counts
 * the outstanding requests and arms the device. A thread that posts first counts its request, then reads the flag. If
 * the flag is set, it arms the device for any completion ({@link #beforePost}). Only then it posts. All four accesses
 * are sequentially consistent, so one of the two threads sees the other's write.
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

    /** The completions for which the device is armed, as far as known. Written under this object's lock. */
    private volatile int asked;

    /** Whether there may be an announcement to take. */
    private volatile boolean announced;

    /** Poll role: whether there was an announcement when polling last stopped. */
    private boolean usual;

    /**
     * @param channel the channel of the queue's announcements
     * @param lanes the lanes whose completions go to the queue
     */
    Announcements(Verbs verbs, long channel, long queue, Lanes lanes) {
        this.verbs = verbs;
        this.channel = channel;
        this.queue = queue;
        this.lanes = lanes;
        descriptor = DuplicateDescriptor.of(Verbs.completionChannelDescriptor(channel));
    }

    /** A descriptor that is readable when there is an announcement; owned by this object. */
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
     * Poll role, after {@link #startRelying}: makes sure that the device announces the next completion.
     *
     * @return whether the device was armed again, so that the queue may hold completions that it will not announce
     */
    boolean ask() {
        usual = announced;
        if (usual) {
            takeAnnouncement();
        }
        return ask(lanes.areUnderWay() ? ANYTHING : ARRIVALS);
    }

    /** A request was counted and will now be posted. Any thread, while the queue cannot be closed. */
    void beforePost() {
        if (relied && asked != ANYTHING) {
            boolean unused = ask(ANYTHING);
        }
    }

    private boolean ask(int wanted) {
        return asked < wanted && askDevice(wanted);
    }

    /** Arms the device under a lock, so that no thread arms it for less just after another one armed it for more. */
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

    /** Poll role: took a completion, which may have been announced. */
    void took(boolean arrival) {
        if ((arrival || asked == ANYTHING) && !announced) {
            announced = true;
        }
    }

    /** Records that the channel was readable. Any thread. */
    void came() {
        announced = true;
    }

    /** Poll role: whether an announcement is likely while a thread polls, because there was one the last time. */
    boolean isUsual() {
        return usual;
    }

    @Override
    public void close() {
        descriptor.close();
    }
}
