package dev.lite.client;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The functions that a session calls, or the ports to which it sends, as they are open at its node. An
 * application may use ever new ones, for example a port for each answer, but the node limits what a session
 * has open. So of those that are not in use, only about a maximum stays open. Any thread.
 */
final class OpenTargets {
    // Of the node's limit of 8,192, these leave 3,072 for what the session serves and receives.
    static final int FUNCTIONS_MAX = 4096;
    static final int PORTS_MAX = 1024;

    private final ControlRequests requests;
    private final int openMax;
    private final Map<Object, CallTarget> targets = new ConcurrentHashMap<>();
    /** The numbers of those that are closed here, but not at the node, whose limit bounds them. */
    private final ConcurrentLinkedQueue<Long> unclosed = new ConcurrentLinkedQueue<>();

    /** Where the search for one to close continues. */
    @GuardedBy("this")
    private Iterator<Map.Entry<Object, CallTarget>> next = Collections.emptyIterator();

    /** @param openMax while more are open, each that is opened closes another one */
    OpenTargets(ControlRequests requests, int openMax) {
        this.requests = requests;
        this.openMax = openMax;
    }

    /** What was open a moment ago, or null. */
    @Nullable
    CallTarget find(Object key) {
        return targets.get(key);
    }

    /**
     * Keeps a function or port open; {@link CallTarget#exit} must follow.
     *
     * @param open opens it at the node
     */
    CallTarget enter(Object key, Supplier<CallTarget> open) {
        CallTarget known = targets.get(key);
        if (known != null && known.enter()) {
            return known;
        }
        CallTarget opened = open.get();
        boolean unused = opened.enter();
        // Two threads may open it at the same time.
        CallTarget used = targets.compute(key, (same, now) -> now != null && now.enter() ? now : opened);
        boolean done = false;
        try {
            if (used != opened) {
                unclosed.add(opened.id());
            } else if (targets.size() > openMax) {
                closeOne();
            }
            closeAtNode();
            done = true;
            return used;
        } finally {
            if (!done) { // for example no memory for a thread
                used.exit();
            }
        }
    }

    /** Closes one that is not in use, and was not since the last look; if there is none, one more is open. */
    private synchronized void closeOne() {
        for (int looks = 2 * targets.size(); looks > 0; looks--) {
            if (!next.hasNext()) {
                next = targets.entrySet().iterator();
            }
            if (!next.hasNext()) {
                return;
            }
            Map.Entry<Object, CallTarget> entry = next.next();
            CallTarget target = entry.getValue();
            if (target.tryClose()) {
                boolean unused = targets.remove(entry.getKey(), target);
                unclosed.add(target.id());
                target.closeChannel();
                return;
            }
        }
    }

    /** While the session is at its limit of requests, the numbers wait for the next one that is opened. */
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
