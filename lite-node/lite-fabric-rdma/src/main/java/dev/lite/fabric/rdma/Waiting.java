package dev.lite.fabric.rdma;

import dev.lite.os.DuplicateDescriptor;
import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.OsException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * How threads wait for a fabric: the poll role at one set, whoever stands by at another. Each has a bell, and the channel on which the
 * device announces completions; for who stands by it counts only while armed.
 *
 * <p>The device announces one completion after it was asked to, and only then, so that a poller in its stride is never
 * interrupted.
 */
final class Waiting implements AutoCloseable {
    private static final long BELL = -1;
    private static final long DEVICE = 0;

    private final Stage polling;
    private final Stage standingBy;
    private final long sleepNsMax;

    /** Poll role, as all that follows. */
    private boolean armed;

    private @Nullable Announcements announcements;

    /** A set to wait at, and its bell. Rung once until somebody waited. */
    private static final class Stage implements AutoCloseable {
        private final AtomicBoolean rung = new AtomicBoolean();
        private final EventFd bell = EventFd.create();
        final Epoll set;

        Stage() {
            Epoll made;
            try {
                made = Epoll.create();
            } catch (OsException e) {
                bell.close();
                throw e;
            }
            set = made;
            set.add(bell, Epoll.IN, BELL);
        }

        void ring() {
            if (!rung.getAndSet(true)) {
                bell.signal();
            }
        }

        void await(long timeoutNs) {
            int ready = set.await(timeoutNs);
            for (int i = 0; i < ready; i++) {
                if (set.key(i) == BELL) {
                    // In this order: a ring in between is this wait's, one after it signals again.
                    bell.drain();
                    rung.set(false);
                }
            }
        }

        @Override
        public void close() {
            set.close();
            bell.close();
        }
    }

    /** What a device announces on a channel of one queue. Poll role. */
    static final class Announcements {
        private final Verbs verbs;
        private final long channel;
        private final long queue;
        private final DuplicateDescriptor descriptor;
        private boolean requested;

        Announcements(Verbs verbs, long channel, long queue) {
            this.verbs = verbs;
            this.channel = channel;
            this.queue = queue;
            descriptor = DuplicateDescriptor.of(Verbs.completionChannelDescriptor(channel));
        }

        /** Asks for the next completion to be announced, unless it is being waited for already. */
        void request() {
            int taken = 0;
            while (requested && verbs.takeNotification(channel)) {
                taken++;
                requested = false;
            }
            if (taken > 0) {
                verbs.acknowledge(queue, taken);
            }
            if (!requested) {
                verbs.requestNotification(queue);
                requested = true;
            }
        }
    }

    private Waiting(Stage polling, Stage standingBy, long sleepNsMax) {
        this.polling = polling;
        this.standingBy = standingBy;
        this.sleepNsMax = sleepNsMax;
    }

    /**
     * Disarmed, and without a device.
     *
     * @param sleepNsMax how long a wait lasts at most, whatever is asked for
     */
    static Waiting open(long sleepNsMax) {
        var polling = new Stage();
        try {
            return new Waiting(polling, new Stage(), sleepNsMax);
        } catch (OsException e) {
            polling.close();
            throw e;
        }
    }

    /** From now on there is a device. Before anybody waits. */
    void watch(Announcements device) {
        polling.set.add(device.descriptor, Epoll.IN, DEVICE);
        standingBy.set.add(device.descriptor, armed ? Epoll.IN : 0, DEVICE);
        announcements = device;
    }

    /** Poll role: what ends from now on is announced. The caller looks at the queue once more before it sleeps. */
    void request() {
        var device = announcements;
        if (device != null) {
            device.request();
        }
    }

    /** The poll role waits. */
    void await(long timeoutNs) {
        polling.await(Math.min(timeoutNs, sleepNsMax));
    }

    /** Another thread waits. */
    void standBy(long timeoutNs) {
        standingBy.await(Math.min(timeoutNs, sleepNsMax));
    }

    /** Poll role: from now on announcements end {@link #standBy}. */
    void arm() {
        setArmed(true);
    }

    /** Poll role: from now on they do not. */
    void disarm() {
        setArmed(false);
    }

    private void setArmed(boolean wanted) {
        var device = announcements;
        if (armed != wanted) {
            armed = wanted;
            if (device != null) {
                standingBy.set.modify(device.descriptor, wanted ? Epoll.IN : 0, DEVICE);
            }
        }
    }

    /** Any thread. */
    void wakeStandBy() {
        standingBy.ring();
    }

    /** Any thread. */
    void wakeAll() {
        polling.ring();
        standingBy.ring();
    }

    @Override
    public void close() {
        polling.close();
        standingBy.close();
        var device = announcements;
        if (device != null) {
            device.descriptor.close();
        }
    }
}
