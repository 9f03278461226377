package dev.lite.session.channel;

import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.OsException;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Polling;
import dev.lite.session.waiting.FailureReports;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Polls the links of an application while the threads that use them sleep or do other work. Has one platform thread, which starts with
 * the first link. An armed link is polled once when input arrives. Any thread may call.
 */
public final class LinkWatch implements AutoCloseable {
    private static final long SLEEP_NS = TimeUnit.SECONDS.toNanos(30);
    private static final long FAILED_NS = 10_000_000;
    /** What a thread has left to another one, which then is busy, waits for about this time. */
    private static final long TICK_NS = 1_000_000;

    private static final int IDLE_TICKS = 20;

    private static final long CLOSE_KEY = 0;

    private final Map<Long, ChannelLink> links = new ConcurrentHashMap<>();
    private final AtomicLong lastKey = new AtomicLong(CLOSE_KEY);
    private final ReadyLinks ready = new ReadyLinks();

    /** The links to be armed after a moment. The thread's. */
    private final Set<ChannelLink> later = new HashSet<>();

    /** The thread's. */
    private final FailureReports reports = new FailureReports();

    // What has come to the last sleep, and how much of it is dealt with. The thread's.
    private int came;
    private int dealtWith;

    private long tickedNs;
    private volatile boolean ticking;
    /** Ticks since something was left. Updates may be lost, which costs a few ticks. */
    private volatile int idleTicks;

    private volatile boolean closed;
    private @Nullable Descriptors descriptors; // written under the lock, not closed before the thread has ended

    private record Descriptors(Epoll sockets, EventFd bell) {}

    /** Watches a link, which is not armed yet. Returns its key. */
    long add(ChannelLink link, TcpSocket socket) {
        long key = lastKey.incrementAndGet();
        links.put(key, link);
        boolean added = false;
        try {
            started().sockets().add(socket, Epoll.ONCE, key);
            added = true;
        } finally {
            if (!added) {
                links.remove(key);
            }
        }
        return key;
    }

    private synchronized Descriptors started() {
        Descriptors its = descriptors;
        if (its == null) {
            Epoll sockets = Epoll.create();
            EventFd bell;
            try {
                bell = EventFd.create();
            } catch (OsException e) {
                sockets.close();
                throw e;
            }
            try {
                sockets.add(bell, Epoll.IN, CLOSE_KEY);
            } catch (OsException e) {
                sockets.close();
                bell.close();
                throw e;
            }
            its = new Descriptors(sockets, bell);
            Descriptors made = its;
            try {
                Thread.ofPlatform().daemon().name("lite-channel-links").start(() -> run(made));
            } catch (Error e) { // no memory for a thread
                sockets.close();
                bell.close();
                throw e;
            }
            descriptors = its;
        }
        return its;
    }

    /** For the links of servers. */
    ReadyLinks ready() {
        return ready;
    }

    /** Polls a link once, as soon as something comes. */
    void arm(long key, TcpSocket socket, int interest) {
        started().sockets().modify(socket, interest | Epoll.ONCE, key);
    }

    /** Something was left to a thread that polls, or will soon. If it does not, this object's thread sends. */
    void left() {
        if (!ticking) {
            ticking = true;
            boolean rung = false;
            try {
                started().bell().signal();
                rung = true;
            } finally {
                if (!rung) { // the stack overflows, for example: else nobody would ring while the thread sleeps
                    ticking = false;
                }
            }
        }
        if (idleTicks != 0) {
            idleTicks = 0;
        }
    }

    void remove(long key, TcpSocket socket) {
        ready.remove(key);
        if (links.remove(key) != null) {
            try {
                started().sockets().remove(socket);
            } catch (OsException e) {
                // the set is closed
            }
        }
    }

    private void run(Descriptors its) {
        try {
            while (!closed) {
                try {
                    poll(its);
                } catch (Throwable failed) { // without this thread, sleeping threads would not be woken any more
                    reports.report(failed);
                    Polling.sleepNs(FAILED_NS);
                }
            }
        } finally {
            its.sockets().close();
            its.bell().close();
        }
    }

    private void poll(Descriptors its) {
        if (dealtWith == came) { // else an error has ended the last turn: what else has come does not come again
            came = 0;
            dealtWith = 0;
            came = its.sockets().await(ticking || !later.isEmpty() ? TICK_NS : SLEEP_NS);
        }
        long nowNs = System.nanoTime();
        if (nowNs - tickedNs >= TICK_NS) {
            tickedNs = nowNs;
            tick();
        }
        while (dealtWith < came) {
            long key = its.sockets().key(dealtWith);
            if (key == CLOSE_KEY) {
                dealtWith++; // first: if the drain fails, it comes again
                its.bell().drain();
                continue;
            }
            ChannelLink link = links.get(key);
            if (link != null && !works(() -> poll(link))) {
                later.add(link);
            }
            dealtWith++;
        }
    }

    private void poll(ChannelLink link) {
        if (link.memory.enter()) {
            try {
                switch (link.pollWatched()) {
                    case NOW -> link.arm();
                    case LATER -> later.add(link);
                    case NEVER -> {}
                }
            } finally {
                link.memory.exit();
            }
        }
    }

    /** Does something for one link. Its failure must not keep others from what came for them. */
    private boolean works(Runnable forLink) {
        try {
            forLink.run();
            return true;
        } catch (Throwable failed) {
            reports.report(failed);
            return false;
        }
    }

    private void tick() {
        later.removeIf(link -> works(link::armInside));
        if (ticking) {
            int ticks = idleTicks + 1;
            idleTicks = ticks;
            if (ticks > IDLE_TICKS) {
                ticking = false; // before the check: what is left later makes it tick again
            }
            for (ChannelLink link : links.values()) {
                if (!works(() -> tick(link))) {
                    ticking = true;
                }
            }
        }
    }

    private void tick(ChannelLink link) {
        link.ticked();
        if (link.sendLeft()) {
            ticking = true; // or nobody would send it
        }
    }

    /** Ends the thread. No link is polled by it any more. */
    @Override
    public void close() {
        closed = true;
        ready.close();
        Descriptors its;
        synchronized (this) {
            its = descriptors;
        }
        if (its != null) {
            its.bell().signal();
        }
    }
}
