package dev.lite.fabric.conformance;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Records every handler call of one node. For each call it checks the thread, the order of the endpoint's calls, and that each post
 * ends at most once. Handler methods must not throw, so violations are collected for {@link #violations}.
 */
final class Recorder implements FabricHandler {
    private static final int VIOLATIONS_MAX = 20;

    /** The events of one endpoint. Written by the polling thread. */
    static final class Log {
        final Queue<Integer> immediates = new ConcurrentLinkedQueue<>();
        final AtomicInteger connected = new AtomicInteger();
        final AtomicInteger disconnected = new AtomicInteger();
        volatile boolean accepted;

        @Nullable
        volatile String reason;
    }

    private final String node;
    private final AtomicLong lastContext;
    private final Map<Long, Posted> posts = new ConcurrentHashMap<>();
    private final Map<FabricEndpoint, Log> logs = new ConcurrentHashMap<>();
    private final List<FabricEndpoint> acceptedEndpoints = new CopyOnWriteArrayList<>();
    private final Queue<String> violations = new ConcurrentLinkedQueue<>();

    /** The thread that is inside of poll or close, if any. */
    @Nullable
    private volatile Thread polling;

    private final AtomicLong calls = new AtomicLong();

    private volatile Hooks hooks = Hooks.NONE;

    /** The action of a case inside of handler methods. */
    record Hooks(Consumer<FabricEndpoint> connected, ImmediateHook immediate, Consumer<FabricEndpoint> ended) {
        static final Hooks NONE = new Hooks(e -> {}, (e, i) -> {}, e -> {});

        static Hooks onImmediate(ImmediateHook hook) {
            return new Hooks(e -> {}, hook, e -> {});
        }

        static Hooks onConnected(Consumer<FabricEndpoint> hook) {
            return new Hooks(hook, (e, i) -> {}, e -> {});
        }

        static Hooks onEnded(Consumer<FabricEndpoint> hook) {
            return new Hooks(e -> {}, (e, i) -> {}, hook);
        }
    }

    /** Called at an immediate. */
    @FunctionalInterface
    interface ImmediateHook {
        void accept(FabricEndpoint endpoint, int immediate);
    }

    Recorder(String node, AtomicLong lastContext) {
        this.node = node;
        this.lastContext = lastContext;
    }

    void hooks(Hooks newHooks) {
        hooks = newHooks;
    }

    /** Any thread. */
    Posted post(FabricEndpoint endpoint, Posted.Operation operation) {
        Posted posted = new Posted(endpoint, lastContext.incrementAndGet());
        posts.put(posted.context, posted);
        posted.answered(operation.to(endpoint, posted.context));
        return posted;
    }

    Log log(FabricEndpoint endpoint) {
        return logs.computeIfAbsent(endpoint, e -> new Log());
    }

    List<FabricEndpoint> acceptedEndpoints() {
        return acceptedEndpoints;
    }

    /** Runs poll or close. */
    void enter() {
        polling = Thread.currentThread();
        calls.set(0);
    }

    /** Returns the number of handler calls since {@link #enter}. */
    long leave() {
        polling = null;
        return calls.get();
    }

    void violation(String what) {
        if (violations.size() < VIOLATIONS_MAX) {
            violations.add("node " + node + ": " + what);
        }
    }

    Queue<String> violations() {
        return violations;
    }

    /** Call after the fabric is closed: records guaranteed events that are missing. */
    void checkEnd() {
        for (Posted posted : posts.values()) {
            if (posted.surplus() != 0) {
                violation(posted.toString());
            }
        }
        logs.forEach((endpoint, log) -> {
            if (log.disconnected.get() != 1) {
                violation("%s was disconnected %d times".formatted(endpoint, log.disconnected.get()));
            }
        });
    }

    @Override
    public void completed(FabricEndpoint endpoint, long context) {
        end(endpoint, context, null);
    }

    @Override
    public void failed(FabricEndpoint endpoint, long context, FabricError error) {
        end(endpoint, context, error);
    }

    private void end(FabricEndpoint endpoint, long context, @Nullable FabricError error) {
        called(endpoint, "completion of post " + context);
        Posted posted = posts.get(context);
        if (posted == null || posted.endpoint != endpoint) {
            violation("completion of post %d, which %s never accepted".formatted(context, endpoint));
            return;
        }
        posted.end(error);
        // The order matters: an answer recorded between the two checks counts for the second check, too.
        if (posted.answer() != null && posted.surplus() > 0) {
            violation("one completion too many: " + posted);
        }
        guarded(() -> hooks.ended().accept(endpoint));
    }

    @Override
    public void immediate(FabricEndpoint endpoint, int immediate) {
        Log log = called(endpoint, "immediate " + immediate);
        guarded(() -> hooks.immediate().accept(endpoint, immediate));
        log.immediates.add(immediate);
    }

    @Override
    public void connected(FabricEndpoint endpoint, boolean accepted) {
        checkThread("connected");
        Log log = log(endpoint);
        if (log.connected.get() > 0 || log.disconnected.get() > 0) {
            violation("%s connected again, or after it was disconnected".formatted(endpoint));
        }
        log.accepted = accepted;
        log.connected.set(1);
        if (accepted) {
            acceptedEndpoints.add(endpoint);
        }
        guarded(() -> hooks.connected().accept(endpoint));
    }

    @Override
    public void disconnected(FabricEndpoint endpoint, String reason) {
        checkThread("disconnected");
        Log log = log(endpoint);
        if (log.disconnected.get() > 0) {
            violation("%s disconnected a second time: %s".formatted(endpoint, reason));
        }
        if (reason.isBlank()) {
            violation("%s disconnected without a reason".formatted(endpoint));
        }
        log.reason = reason;
        log.disconnected.incrementAndGet();
    }

    private Log called(FabricEndpoint endpoint, String what) {
        checkThread(what);
        Log log = log(endpoint);
        if (log.connected.get() == 0 || log.disconnected.get() > 0) {
            violation("%s at %s before it was connected, or after it was disconnected".formatted(what, endpoint));
        }
        return log;
    }

    private void checkThread(String what) {
        calls.incrementAndGet();
        if (Thread.currentThread() != polling) {
            violation("%s on %s, which is not inside of poll or close".formatted(what, Thread.currentThread()));
        }
    }

    private void guarded(Runnable hook) {
        try {
            hook.run();
        } catch (RuntimeException | AssertionError e) {
            violation("in a handler: " + e);
        }
    }
}
