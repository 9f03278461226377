package dev.lite.tier.session;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Priority;
import dev.lite.api.RpcFailedException;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What applications called, what servers executed, and whether both fit to each other and to what happened. Any thread. */
final class CallBook {
    /** Far longer than a history. */
    static final Duration LONG = Waits.seconds(60);

    private static final long SLACK_NS = Waits.seconds(3).toNanos();
    /** A thread that sleeps without being woken looks again after a second. */
    private static final long SLOW_NS = Waits.seconds(0.8).toNanos();

    /** Longer than servers hold replies back. */
    private static final long HOLD_NS = Waits.seconds(0.1).toNanos();

    /**
     * An application may use a channel for about this time after the serving one has ended, of which it has not heard yet; and a node
     * may not know for this time which functions another one serves.
     */
    private static final long HEARD_NS = Waits.seconds(1).toNanos();

    private static final long STALL_NS = Waits.seconds(0.2).toNanos();
    private static final int HEAD_BYTES = 24;
    private static final int[] LENGTHS = {0, 0, 0, 1, 100, 2000, 5000, (64 << 10) - HEAD_BYTES};

    private final Map<Long, Call> calls = new ConcurrentHashMap<>();
    private final AtomicLong lastId = new AtomicLong();
    private final AtomicLong stalledNs = new AtomicLong();
    private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
    private final Queue<String> slow = new ConcurrentLinkedQueue<>();
    private final Map<String, AtomicInteger> outcomes = new ConcurrentSkipListMap<>();
    /** A node was stopped, or is about to be. */
    volatile boolean nodeLost;

    /** Times at which something happened. Any thread. */
    static final class Times {
        private int underWay;
        private long lastNs = System.nanoTime() - Long.MAX_VALUE / 2;

        synchronized void begin() {
            underWay++;
        }

        synchronized void end() {
            underWay--;
            lastNs = System.nanoTime();
        }

        synchronized boolean isSince(long ns) {
            return underWay > 0 || lastNs - ns >= 0;
        }
    }

    /**
     * A function or a port at a node, or a function at any node.
     *
     * @param node its name; empty for any node
     * @param closed when one of its servers was closed, or it had none
     * @param lost when an application ended that served it, or had served it
     * @param parts the functions of one name at the nodes, of which each call takes any; else none
     */
    record Function(String node, String name, boolean isPort, Times closed, Times lost, List<Function> parts) {
        static Function of(String node, String name) {
            return new Function(node, name, false, new Times(), new Times(), List.of());
        }

        static Function port(String node, String name) {
            return new Function(node, name, true, new Times(), new Times(), List.of());
        }

        static Function any(Function one, Function other) {
            return new Function("", one.name, false, new Times(), new Times(), List.of(one, other));
        }

        boolean contains(Function function) {
            return equals(function) || parts.contains(function);
        }

        /** Whether it may refuse a call of that node that began at that time. */
        boolean mayRefuse(String caller, long ns) {
            // A node knows at once whether it serves a function itself, and a little later whether others do.
            return parts.isEmpty()
                    ? closed.isSince(ns)
                    : parts.stream()
                            .allMatch(part -> part.closed.isSince(part.node.equals(caller) ? ns : ns - HEARD_NS));
        }

        boolean mayCancel(long ns) {
            return lost.isSince(ns - HEARD_NS) || parts.stream().anyMatch(part -> part.lost.isSince(ns - HEARD_NS));
        }
    }

    /** A call or a message, from its begin. */
    static final class Call {
        final long id;
        final HistoryApp by;
        final Function function;
        final long timeoutNs;
        final int holdMs;
        final boolean fails;
        final Priority priority;
        final @Nullable String context;
        final byte[] request;
        final long begunNs = System.nanoTime();
        private final AtomicInteger executed = new AtomicInteger();
        /** How long it had ended before its caller looked. */
        private long lateNs;

        private volatile @Nullable String notDone;
        /** It is a message, and was put into the queue of its port. */
        private volatile boolean sent;

        Call(
                long id,
                HistoryApp by,
                Function function,
                Duration deadline,
                int holdMs,
                boolean fails,
                Priority priority,
                @Nullable String context) {
            this.id = id;
            this.by = by;
            this.function = function;
            this.timeoutNs = deadline.toNanos();
            this.holdMs = holdMs;
            this.fails = fails;
            this.priority = priority;
            this.context = context;
            request = message(id, LENGTHS[(int) (id % LENGTHS.length)]);
        }

        byte[] reply() {
            return message(~id, LENGTHS[(int) (id / LENGTHS.length % LENGTHS.length)]);
        }

        /** Request and context are longer than a call may be. */
        boolean isTooLong() {
            return context != null
                    && request.length + context.getBytes(StandardCharsets.UTF_8).length > LtRpc.MESSAGE_BYTES_MAX;
        }

        /** It has ended before the caller waits for it. */
        void endedEarlier() {
            lateNs = System.nanoTime() - begunNs;
        }

        int failureCode() {
            return (int) (id % 1000);
        }

        Duration deadline() {
            return Duration.ofNanos(timeoutNs);
        }

        @Override
        public String toString() {
            return "call %d of %s by %s (%s, deadline %d ms, held %d ms, executed %d times)"
                    .formatted(id, function.name(), by, priority, timeoutNs / 1_000_000, holdMs, executed.get());
        }
    }

    private static byte[] message(long id, int further) {
        byte[] message = new byte[HEAD_BYTES + further];
        Arrays.fill(message, (byte) id);
        MemorySegment.ofArray(message).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, id);
        return message;
    }

    /** Notes a call that is about to begin. */
    Call begin(
            HistoryApp by,
            Function function,
            Duration deadline,
            int holdMs,
            boolean fails,
            Priority priority,
            @Nullable String context) {
        Call call = new Call(lastId.incrementAndGet(), by, function, deadline, holdMs, fails, priority, context);
        calls.put(call.id, call);
        return call;
    }

    /** A server has received a request, and executes it; or a port has received a message. Returns its call; null if there is none. */
    @Nullable
    Call executed(MemorySegment request, @Nullable String context, Function function) {
        Call call = calls.get(request.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
        if (call == null || !call.function.contains(function)) {
            wrong("%s at %s received a request that nobody sent it: %s"
                    .formatted(function.name(), function.node(), call));
            return null;
        }
        if (request.mismatch(MemorySegment.ofArray(call.request)) >= 0) {
            wrong(call + ": its server received another request");
        }
        if (!Objects.equals(context, call.context)) {
            wrong("%s: its server received another context: %s".formatted(call, context));
        }
        if (call.executed.incrementAndGet() > 1) {
            wrong(call + " was executed twice");
        }
        return call;
    }

    void returned(Call call, MemorySegment reply) {
        ended(call, "reply");
        if (call.isTooLong()) {
            wrong(call + " has a reply; it was too long");
        }
        if (call.fails) {
            wrong(call + " has a reply; its server failed it");
        } else if (reply.mismatch(MemorySegment.ofArray(call.reply())) >= 0) {
            wrong("%s has another reply: id %d".formatted(call, ~reply.get(ValueLayout.JAVA_LONG_UNALIGNED, 0)));
        }
        if (call.executed.get() != 1) {
            wrong("%s has a reply; it was executed %d times".formatted(call, call.executed.get()));
        }
    }

    /** A message was sent. */
    void sent(Call call) {
        ended(call, "sent");
        call.sent = true;
    }

    /** The messages that were sent to a port, which was not closed since, and did not arrive. */
    List<Call> missing() {
        return calls.values().stream()
                .filter(call -> call.sent
                        && call.executed.get() == 0
                        && !call.function.closed().isSince(call.begunNs))
                .toList();
    }

    void failed(Call call, Throwable failure) {
        String text = failure.getClass().getSimpleName() + (failure instanceof RpcFailedException e ? e.status() : "");
        long tookNs = ended(call, text);
        String message = String.valueOf(failure.getMessage());
        boolean promised = switch (failure) {
            case LimitExceededException e -> {
                call.notDone = message;
                yield call.isTooLong();
            }
            case LiteTimeoutException e -> tookNs >= call.timeoutNs;
            case SessionLostException e -> call.by.ending;
            case NodeUnreachableException e -> nodeLost;
            case RpcFailedException e -> isPromised(call, e);
            default -> false;
        };
        if (!promised) {
            wrong("%s failed after %d us: %s".formatted(call, tookNs / 1000, failure));
        }
        if (message.contains("the call was not done")) {
            call.notDone = message;
        }
    }

    private boolean isPromised(Call call, RpcFailedException failure) {
        return switch (failure.status()) {
            case HANDLER_FAILED ->
                call.fails && failure.handlerCode() == call.failureCode() && call.executed.get() == 1;
            case NOT_SERVED, REFUSED -> {
                call.notDone = failure.toString();
                yield nodeLost || call.function.mayRefuse(call.by.node, call.begunNs);
            }
            case CANCELLED -> nodeLost || call.by.ending || call.function.mayCancel(call.begunNs);
            case OVERLOADED, UNKNOWN -> false;
        };
    }

    /** Returns how long it took. */
    private long ended(Call call, String outcome) {
        long tookNs = System.nanoTime() - call.begunNs;
        outcomes.computeIfAbsent(outcome, its -> new AtomicInteger()).incrementAndGet();
        if (tookNs - call.lateNs > SLACK_NS + Math.min(call.timeoutNs, HOLD_NS)) {
            wrong("%s ended after %d ms: %s".formatted(call, tookNs / 1_000_000, outcome));
        }
        if (tookNs - call.lateNs > SLOW_NS && tookNs < call.timeoutNs && !nodeLost) {
            slow.add("%s took %d ms: %s".formatted(call, tookNs / 1_000_000, outcome));
        }
        return tookNs;
    }

    /** An application, or a server of it, is closed: waits for nobody that is alive. */
    void closes(String what, Runnable close) {
        long beganNs = System.nanoTime();
        close.run();
        long tookNs = System.nanoTime() - beganNs;
        if (tookNs > SLOW_NS && !nodeLost) {
            slow.add("the end of %s took %d ms".formatted(what, tookNs / 1_000_000));
        }
    }

    /** The caller does not wait for the call any more. */
    void abandoned(Call call) {
        outcomes.computeIfAbsent("cancelled", its -> new AtomicInteger()).incrementAndGet();
    }

    /** A thread that only sleeps woke up so late: the machine is too busy to tell which calls are slow. */
    void stalled(long ns) {
        long unused = stalledNs.accumulateAndGet(ns, Math::max);
    }

    void wrong(String what) {
        wrong.add(what);
    }

    /** All applications have ended. Returns what was wrong. */
    List<String> finish() {
        for (Call call : calls.values()) {
            if (call.notDone != null && call.executed.get() > 0) {
                wrong("%s was executed in spite of: %s".formatted(call, call.notDone));
            }
        }
        if (!slow.isEmpty() && stalledNs.get() < STALL_NS) {
            wrong("these were slow without reason: " + slow);
        }
        return List.copyOf(wrong);
    }

    /** How many calls ended how. */
    String outcomes() {
        return outcomes.toString();
    }

    /** Which calls and ends were slow. */
    List<String> slow() {
        return List.copyOf(slow);
    }
}
