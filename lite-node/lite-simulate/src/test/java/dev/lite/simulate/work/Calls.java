package dev.lite.simulate.work;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Member;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import dev.lite.tier.node.LiteNode;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.random.RandomGenerator;

/**
 * Calls between nodes. A function runs at most once for a call, exactly once for a call that returned, and the reply is its own.
 * One function fails with exceptions and errors, one hangs; the others must not notice.
 */
final class Calls implements Part {
    private static final String ECHO = "echo";
    private static final String FAILING = "failing";
    private static final String HANGING = "hanging";
    private static final int CONCURRENCY = 4;
    private static final int MANY = 300;
    private static final int LAPS = 24;
    private static final int CROWD = 24;
    private static final int INLINE_BYTES = 1536;
    private static final long SETTLED_NS = 5_000_000_000L;

    private final Cluster cluster;
    private final RandomGenerator random;
    private final int hangs;
    private final Map<Long, Integer> runs = new HashMap<>();
    private long lastCall;
    private int principals;
    private boolean over;

    Calls(Cluster cluster) {
        this.cluster = cluster;
        this.random = cluster.simulation().streams().stream("functions");
        this.hangs = Without.is("hangs") ? 0 : random.nextInt(4) == 0 ? 40 : 1;
    }

    @Override
    public int weight(Mix mix) {
        return switch (mix) {
            case HANGS -> 8;
            case CUTS -> 4;
            case TRANSFERS -> 0;
            default -> 1;
        };
    }

    @Override
    public void started(LiteNode node) {
        // For as long as the process runs; the node ends it.
        LtRpc rpc = node.attach("functions").rpc();
        var unused = Objects.requireNonNull(rpc.register(ECHO, CONCURRENCY, call -> {
            ran(call.request());
            if (random.nextInt(20) == 0) {
                Pause.ns(cluster.simulation(), random.nextLong(50_000_000));
            }
            return reply(call.request());
        }));
        unused = rpc.register(FAILING, CONCURRENCY, call -> {
            ran(call.request());
            if (random.nextInt(3) == 0 && !Without.is("errors")) {
                throw new AssertionError("a function fails with an error on purpose");
            }
            if (random.nextBoolean()) {
                throw new IllegalStateException("a function fails on purpose");
            }
            return reply(call.request());
        });
        unused = node.attach("slow functions").rpc().register(HANGING, CONCURRENCY, call -> {
            ran(call.request());
            while (!over && !Thread.currentThread().isInterrupted()) {
                Pause.ns(cluster.simulation(), 100_000_000);
            }
            return reply(call.request());
        });
    }

    private void ran(MemorySegment request) {
        long id = request.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
        if (runs.merge(id, 1, Integer::sum) > 1) {
            cluster.rule().broken("call %d ran %d times".formatted(id, runs.get(id)));
        }
    }

    private static MemorySegment reply(MemorySegment request) {
        MemorySegment reply = MemorySegment.ofArray(new long[(int) (request.byteSize() / 8)]);
        MemorySegment.copy(request, 0, reply, 0, request.byteSize() / 8 * 8);
        reply.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, -request.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
        return reply;
    }

    @Override
    public void step(App app) {
        Mix mix = cluster.shape().mix();
        int kind = app.random.nextInt(12);
        if (kind == 0) {
            String node = app.anyNode();
            // Large ones now and then, so that the slots of the whole node would be gone.
            boolean many = mix == Mix.HANGS && !Without.is("hangs") && app.random.nextInt(4) == 0;
            int bytes = many ? 64 << 10 : bytes(app.random);
            for (int i = 0; i < (many ? MANY : hangs); i++) {
                hang(app, node, bytes);
            }
            return;
        }
        if (kind == 1 && mix == Mix.HANGS) {
            pass(app);
            return;
        }
        if (kind == 2) {
            crowd(app);
            return;
        }
        if (kind < 7 && mix == Mix.CUTS) {
            bindAnew(app);
            return;
        }
        String function = kind < 4 ? FAILING : ECHO;
        long ns = (5L + app.random.nextInt(300)) * 1_000_000;
        try {
            call(app, app.anyNode(), function, bytes(app.random), Duration.ofNanos(ns));
        } catch (RpcFailedException e) {
            if (!function.equals(FAILING) && isOfHandler(e)) {
                cluster.rule().broken("a call of the function " + function + " failed: " + e.getMessage());
            }
            throw e;
        }
    }

    /** Whether the handler itself is said to have failed. */
    private static boolean isOfHandler(RpcFailedException e) {
        return e.status() == RpcStatus.HANDLER_FAILED;
    }

    /** So many calls of a function, one after the other, that the ring of their binding passes its end. */
    private void pass(App app) {
        String node = app.anyNode();
        for (int i = 0; i < LAPS; i++) {
            call(app, node, ECHO, INLINE_BYTES, Duration.ofMillis(300));
        }
    }

    /** So many calls at once that their ring is full, and the caller's node asks for a large one. */
    private void crowd(App app) {
        String node = app.anyNode();
        Map<Long, CompletableFuture<byte[]>> replies = new LinkedHashMap<>();
        for (int i = 0; i < CROWD; i++) {
            byte[] request = request(INLINE_BYTES);
            replies.put(id(request), app.lite.rpc().callAsync(node, ECHO, request, Duration.ofMillis(300)));
        }
        replies.forEach((id, reply) -> {
            try {
                check(id, node, ECHO, INLINE_BYTES, reply.join());
            } catch (CompletionException e) {
                if (!(e.getCause() instanceof LiteException failure)) {
                    throw e;
                }
                app.note("one of many calls: " + failure.getClass().getSimpleName());
                if (failure instanceof RpcFailedException failed && isOfHandler(failed)) {
                    cluster.rule().broken("a call of the function " + ECHO + " failed: " + failed.getMessage());
                }
            }
        });
    }

    /** As a new principal, so that the function is bound once more. */
    private void bindAnew(App app) {
        try (Lite other = app.member.node().attach("app" + ++principals)) {
            App as = new App(app.cluster, app.member, other, app.random);
            call(as, app.anyNode(), ECHO, 64, Duration.ofMillis(50));
        }
    }

    private void hang(App app, String node, int bytes) {
        try {
            call(app, node, HANGING, bytes, Duration.ofNanos(200_000));
        } catch (LiteException e) {
            app.note("hanging call: " + e.getClass().getSimpleName());
        }
    }

    private static int bytes(RandomGenerator random) {
        return switch (random.nextInt(6)) {
            case 0 -> 64 << 10;
            case 1 -> 8 * (1 + random.nextInt(1 << 12));
            default -> 8 * (1 + random.nextInt(100));
        };
    }

    private void call(App app, String node, String function, int bytes, Duration deadline) {
        byte[] request = request(bytes);
        check(id(request), node, function, bytes, app.lite.rpc().call(node, function, request, deadline));
    }

    /** The request of a new call. */
    private byte[] request(int bytes) {
        byte[] request = new byte[bytes];
        long id = ++lastCall;
        MemorySegment of = MemorySegment.ofArray(request);
        for (long at = 0; at < bytes; at += 8) {
            of.set(ValueLayout.JAVA_LONG_UNALIGNED, at, id);
        }
        return request;
    }

    private static long id(byte[] request) {
        return MemorySegment.ofArray(request).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    private void check(long id, String node, String function, int bytes, byte[] reply) {
        MemorySegment back = MemorySegment.ofArray(reply);
        boolean whole = reply.length == bytes && back.get(ValueLayout.JAVA_LONG_UNALIGNED, 0) == -id;
        for (long at = 8; whole && at < bytes; at += 8) {
            whole = back.get(ValueLayout.JAVA_LONG_UNALIGNED, at) == id;
        }
        if (!whole) {
            cluster.rule()
                    .broken("call %d of %s at %s got another call's reply of %d bytes"
                            .formatted(id, function, node, reply.length));
        }
        if (runs.getOrDefault(id, 0) != 1) {
            cluster.rule()
                    .broken("call %d of %s at %s returned and ran %d times"
                            .formatted(id, function, node, runs.getOrDefault(id, 0)));
        }
    }

    /** Each node can call each. */
    @Override
    public void settle(App any) {
        for (Member from : cluster.members()) {
            try (Lite lite = from.node().attach(Workload.PRINCIPAL)) {
                App caller = new App(cluster, from, lite, any.random);
                for (Member member : cluster.members()) {
                    for (int bytes : new int[] {64, 64 << 10}) {
                        settled(caller, member.name(), ECHO, bytes);
                        settled(caller, member.name(), FAILING, bytes);
                    }
                }
            }
        }
    }

    private void settled(App any, String node, String function, int bytes) {
        String[] last = {""};
        boolean works = Pause.until(cluster.simulation(), SETTLED_NS, () -> {
            try {
                call(any, node, function, bytes, Duration.ofMillis(500));
                return true;
            } catch (RpcFailedException e) {
                last[0] = e.toString();
                return isOfHandler(e);
            } catch (LiteTimeoutException | NodeUnreachableException | LmrUnavailableException e) {
                last[0] = e.toString();
                return false;
            } catch (dev.lite.api.LimitExceededException e) {
                last[0] = e.toString();
                return false;
            }
        });
        if (!works) {
            cluster.rule()
                    .broken("calls of %d bytes from %s of %s at %s still fail after %d s: %s"
                            .formatted(bytes, any.member.name(), function, node, SETTLED_NS / 1_000_000_000, last[0]));
        }
    }

    @Override
    public void cleanUp(App any) {
        over = true;
    }
}
