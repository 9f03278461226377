package dev.lite.simulate.work;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.simulate.engine.Simulation;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.random.RandomGenerator;

/**
 * Sessions that serve functions and ports for a moment, and end while calls and messages are under way. Every call must end, with its
 * own reply or with an exception of the tier; the end of a session must not fail; and nothing of the sessions may be left.
 */
final class Services implements Part {
    /** What the names of their principals begin with. */
    static final String PRINCIPALS = "brief ";

    private static final int NAMES = 2;
    private static final int CALLS_MAX = 12;
    private static final long END_NS_MAX = 20_000_000;
    private static final Duration CALL = Duration.ofMillis(300);
    private static final Duration RECEIVE = Duration.ofMillis(20);

    private final Cluster cluster;
    private final Simulation simulation;

    Services(Cluster cluster) {
        this.cluster = cluster;
        this.simulation = cluster.simulation();
    }

    @Override
    public int weight(Mix mix) {
        return switch (mix) {
            case TRANSFERS -> 0;
            case HANGS, CUTS, SESSIONS -> 2;
            default -> 1;
        };
    }

    @Override
    public void step(App app) {
        RandomGenerator random = app.random;
        Lite brief = app.member.node().attach(PRINCIPALS + random.nextInt(NAMES));
        long endsNs = random.nextLong(END_NS_MAX);
        simulation.start(app.process, "ends a server", random.nextBoolean(), () -> {
            Pause.ns(simulation, endsNs);
            brief.close();
        });
        String name = "brief" + random.nextInt(NAMES);
        switch (random.nextInt(3)) {
            case 0 -> serve(app, brief.rpc(), name);
            case 1 -> register(app, brief.rpc(), name);
            default -> receiveMessages(app, brief.rpc(), name);
        }
    }

    private void serve(App app, LtRpc rpc, String name) {
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        try {
            RpcServer server = rpc.serve(name);
            call(app, name, replies);
            for (int left = app.random.nextInt(CALLS_MAX); left > 0; left--) {
                RpcCall call = server.receive(RECEIVE);
                if (app.random.nextInt(3) > 0) {
                    call.reply(call.request());
                }
            }
            if (app.random.nextBoolean()) {
                server.close();
            }
        } catch (LiteException e) {
            app.note("a brief server: " + e.getClass().getSimpleName());
        } finally {
            replies.forEach(reply -> check(app, reply));
        }
    }

    private void register(App app, LtRpc rpc, String name) {
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        long busyNs = app.random.nextLong(END_NS_MAX);
        try {
            RpcServer server = rpc.register(name, 2, call -> {
                Pause.ns(simulation, busyNs);
                return call.request();
            });
            call(app, name, replies);
            if (app.random.nextBoolean()) {
                server.close();
            }
        } catch (LiteException e) {
            app.note("a brief handler: " + e.getClass().getSimpleName());
        } finally {
            replies.forEach(reply -> check(app, reply));
        }
    }

    private static void call(App app, String name, List<CompletableFuture<byte[]>> replies) {
        String node = app.random.nextBoolean() ? app.member.name() : app.anyNode();
        for (int left = app.random.nextInt(CALLS_MAX); left > 0; left--) {
            replies.add(app.lite.rpc().callAsync(node, name, request(replies.size()), CALL));
        }
    }

    private static byte[] request(int number) {
        byte[] request = new byte[Long.BYTES * (1 + number)];
        Arrays.fill(request, (byte) number);
        return request;
    }

    /** Other applications may call the same server: so the length tells which call it was. */
    private void check(App app, CompletableFuture<byte[]> future) {
        try {
            byte[] reply = future.join();
            if (!Arrays.equals(reply, request(reply.length / Long.BYTES - 1))) {
                cluster.rule().broken("a reply of a brief server is not its request: " + Arrays.toString(reply));
            }
        } catch (CompletionException e) {
            if (!(e.getCause() instanceof LiteException)) {
                throw e;
            }
            app.note("a call of a brief server: " + e.getCause().getClass().getSimpleName());
        }
    }

    private void receiveMessages(App app, LtRpc rpc, String name) {
        try {
            RpcMessages port = rpc.messages(name);
            int bytes = app.random.nextBoolean() ? LtRpc.MESSAGE_BYTES_MAX : Long.BYTES;
            MemorySegment message = MemorySegment.ofArray(new byte[bytes]);
            for (int left = app.random.nextInt(CALLS_MAX); left > 0; left--) {
                app.lite.rpc().send(app.member.name(), name, message, RECEIVE);
            }
            for (int left = app.random.nextInt(CALLS_MAX); left > 0; left--) {
                receive(app, port);
            }
        } catch (LiteException e) {
            app.note("a brief port: " + e.getClass().getSimpleName());
        }
    }

    private static void receive(App app, RpcMessages port) {
        try {
            RpcMessages.Message unused = port.receive(RECEIVE);
        } catch (LiteTimeoutException e) {
            app.note("no message came");
        }
    }
}
