package dev.lite.tier.rpc;

import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The nodes at which one session calls one function, and its calls under way at each of them. Any thread.
 *
 * <p>Bound: the nodes that serve the function, and those that have served it when they were as many.
 */
final class AnyNodes {
    /** How long a node is passed over that did not accept a call. */
    private static final long SKIP_NS = TimeUnit.SECONDS.toNanos(1);

    private final RpcEngine engine;
    private final SessionRpc session;
    private final String function;
    private final String principal;
    private final Map<String, Target> targets = new ConcurrentHashMap<>();
    /** Counts the choices, so that equal nodes take turns; callers on different nodes begin at different ones. */
    private final AtomicInteger turns =
            new AtomicInteger(ThreadLocalRandom.current().nextInt());

    AnyNodes(RpcEngine engine, SessionRpc session, String function, String principal) {
        this.engine = engine;
        this.session = session;
        this.function = function;
        this.principal = principal;
    }

    String function() {
        return function;
    }

    String self() {
        return engine.selfName();
    }

    AsyncCalls asyncCalls() {
        return engine.asyncCalls();
    }

    void requireOpen() {
        session.requireOpen();
    }

    /** A node, with the calls under way. */
    final class Target {
        private final FunctionClient client;
        private final AtomicInteger calls = new AtomicInteger();
        private volatile long skippedUntilNs = System.nanoTime();

        Target(String node) {
            client = new FunctionClient(engine, session, node, function, principal, false);
        }

        FunctionClient client() {
            return client;
        }

        /** Begins a call; throws if it cannot be sent, and then counts nothing. */
        void begin(long deadlineNs) {
            engine.caller().bind(client, deadlineNs);
            calls.incrementAndGet();
        }

        /** A call has ended. */
        void end() {
            calls.decrementAndGet();
        }

        void skip() {
            skippedUntilNs = System.nanoTime() + SKIP_NS;
        }

        /** Whether the others come first. */
        boolean isLast(long nowNs) {
            return skippedUntilNs - nowNs > 0 || !isConnected();
        }

        private boolean isConnected() {
            try {
                return engine.connected(client.nodeId()) != null;
            } catch (NodeUnreachableException unknown) {
                return false;
            }
        }
    }

    /**
     * The node for the next attempt of a call: this node, else the one with the fewest calls. Nodes that are not connected, or did
     * not accept a call a moment ago, come last.
     *
     * @param tried the nodes that the call has tried
     * @return null if there is no other one
     */
    @Nullable
    Target choose(Set<String> tried, Deadline deadline) {
        String self = engine.selfName();
        if (!tried.contains(self) && engine.serves(function)) {
            return target(self);
        }
        List<String> nodes = engine.functionDirectory().nodesServing(function, deadline);
        if (targets.size() > 2 * nodes.size() + 1) {
            targets.keySet().removeIf(node -> !node.equals(self) && !nodes.contains(node));
        }
        long nowNs = System.nanoTime();
        Target best = null;
        int turn = turns.getAndIncrement();
        for (int i = 0; i < nodes.size(); i++) {
            String node = nodes.get(Math.floorMod(turn + i, nodes.size()));
            if (!node.equals(self) && !tried.contains(node)) {
                Target next = target(node);
                if (best == null || isBetter(next, best, nowNs)) {
                    best = next;
                }
            }
        }
        return best;
    }

    private static boolean isBetter(Target one, Target other, long nowNs) {
        boolean last = one.isLast(nowNs);
        return last != other.isLast(nowNs) ? !last : one.calls.get() < other.calls.get();
    }

    private Target target(String node) {
        Target known = targets.get(node);
        return known != null ? known : targets.computeIfAbsent(node, Target::new);
    }
}
