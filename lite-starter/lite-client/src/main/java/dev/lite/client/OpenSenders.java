package dev.lite.client;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * The ports to which a session sends, as they are open at its node. An application may send to ever new ports, for example to one for
 * each answer, but the node limits what a session has open. So of those that are not in use, only about {@value #OPEN_MAX} stay open. Any
 * thread.
 */
final class OpenSenders {
    /** A part of the node's limit, which functions and ports share. */
    static final int OPEN_MAX = 1024;

    private static final int CLOSED = -1;

    private final ControlRequests requests;
    private final Map<Object, Sender> senders = new ConcurrentHashMap<>();
    /** The numbers of those that are closed here, but not at the node. */
    private final ConcurrentLinkedQueue<Long> unclosed = new ConcurrentLinkedQueue<>();

    /** Where the search for one to close continues. */
    @GuardedBy("this")
    private Iterator<Map.Entry<Object, Sender>> next = Collections.emptyIterator();

    OpenSenders(ControlRequests requests) {
        this.requests = requests;
    }

    /** An open port. */
    static final class Sender {
        private final CallTarget target;
        /** Threads that send, or {@link #CLOSED}. */
        private final AtomicInteger users = new AtomicInteger(1);

        private volatile boolean usedLately = true;

        private Sender(CallTarget target) {
            this.target = target;
        }

        CallTarget target() {
            return target;
        }

        private boolean enter() {
            return users.getAndUpdate(now -> now == CLOSED ? CLOSED : now + 1) != CLOSED;
        }

        /** Ends {@link OpenSenders#enter}. */
        void exit() {
            if (!usedLately) {
                usedLately = true;
            }
            users.decrementAndGet();
        }
    }

    /**
     * Keeps a port open; {@link Sender#exit} must follow.
     *
     * @param open opens it at the node
     */
    Sender enter(Object port, Supplier<CallTarget> open) {
        Sender known = senders.get(port);
        if (known != null && known.enter()) {
            return known;
        }
        Sender opened = new Sender(open.get());
        // Two threads may open it at the same time.
        Sender used = senders.compute(port, (key, now) -> now != null && now.enter() ? now : opened);
        if (used != opened) {
            unclosed.add(opened.target().id());
        } else if (senders.size() > OPEN_MAX) {
            closeOne();
        }
        closeAtNode();
        return used;
    }

    /** Closes one that is not in use, and was not since the last look; if there is none, one more stays open. */
    private synchronized void closeOne() {
        for (int looks = 2 * senders.size(); looks > 0; looks--) {
            if (!next.hasNext()) {
                next = senders.entrySet().iterator();
            }
            if (!next.hasNext()) {
                return;
            }
            Map.Entry<Object, Sender> entry = next.next();
            Sender sender = entry.getValue();
            if (sender.usedLately) {
                sender.usedLately = false;
            } else if (sender.users.compareAndSet(0, CLOSED)) {
                boolean unused = senders.remove(entry.getKey(), sender);
                unclosed.add(sender.target().id());
                return;
            }
        }
    }

    /** While the session is at its limit of requests, the numbers wait for the next port that is opened. */
    private void closeAtNode() {
        for (Long number = unclosed.poll(); number != null; number = unclosed.poll()) {
            long its = number;
            if (!requests.tryPost(id -> new RpcClose(id, its))) {
                unclosed.add(number);
                return;
            }
        }
    }
}
