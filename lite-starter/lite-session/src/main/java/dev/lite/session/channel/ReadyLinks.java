package dev.lite.session.channel;

import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Finds with one system call which links of an application's servers have input. One thread polls in turn for the handlers of many
 * functions, and polling each link would take one system call per link. So a poll of one link checks all links at once, and polls of the
 * others use this result while it is recent. This only saves time: a link that cannot be added here polls by itself. Any thread.
 */
final class ReadyLinks {
    /** From so many links on, a look at all costs less than one at each. */
    static final int MANY = 4;
    /** A look for all that is older does not count. */
    private static final long FRESH_NS = 5_000;

    /** By key. */
    private final Map<Long, ServerLink> links = new ConcurrentHashMap<>();

    private final AtomicBoolean looking = new AtomicBoolean();

    /** Level-triggered; null: there were never many links. Written under the lock. */
    private volatile @Nullable Epoll set;

    /** The link for which a thread looked last, and when. Written by the thread that looks. */
    private volatile @Nullable ServerLink looker;

    private volatile long lookedNs = System.nanoTime() - FRESH_NS;
    private boolean closed;

    /** A link is polled from now on. Does not throw: without memory or descriptors for this, it polls for itself. */
    synchronized void add(ServerLink link) {
        try {
            links.put(link.key(), link);
            if (set != null) {
                put(link);
            } else if (links.size() >= MANY && !closed) {
                set = Epoll.create();
                links.values().forEach(this::put);
            }
        } catch (OsException | OutOfMemoryError e) {
            // it polls for itself
        }
    }

    private void put(ServerLink link) {
        Epoll its = set;
        if (its != null) {
            its.add(link.socket(), Epoll.IN, link.key());
            link.isInSet = true;
        }
    }

    /** A link is polled no more. Its socket is still open. */
    synchronized void remove(long key) {
        ServerLink link = links.remove(key);
        if (looker == link) {
            looker = null;
        }
        Epoll its = set;
        if (link != null && link.isInSet && its != null) {
            try {
                its.remove(link.socket());
            } catch (OsException e) {
                // the set is closed
            }
        }
    }

    synchronized void close() {
        closed = true;
        if (set != null) {
            set.close();
        }
    }

    /** Receives what this link has, and others have; or returns false if the link must poll for itself. Never blocks. */
    boolean poll(ServerLink link) {
        Epoll its = set;
        if (its == null || !link.isInSet) {
            return false;
        }
        if (looker != link && System.nanoTime() - lookedNs < FRESH_NS) {
            return true;
        }
        if (!looking.compareAndSet(false, true)) {
            return false; // that thread may have lost its processor
        }
        try {
            looker = link;
            int ready = its.await(0);
            lookedNs = System.nanoTime();
            for (int i = 0; i < ready; i++) {
                ServerLink one = links.get(its.key(i));
                // Other links have threads that poll, or that sleep and must be woken by the watching thread.
                if (one != null && (one == link || one.isVirtuallyPolled())) {
                    pollInside(one);
                }
            }
            return ready < Epoll.EVENTS_MAX;
        } catch (OsException e) { // the set is closed
            return false;
        } finally {
            looking.set(false);
        }
    }

    private static void pollInside(ServerLink link) {
        if (link.memory.enter()) {
            try {
                boolean unused = link.poll();
            } catch (RuntimeException | Error e) {
                // its channel has ended, which is no matter of this thread
            } finally {
                link.memory.exit();
            }
        }
    }
}
