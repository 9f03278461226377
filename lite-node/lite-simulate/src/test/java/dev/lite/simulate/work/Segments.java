package dev.lite.simulate.work;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.simulate.engine.Simulation;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Member;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import dev.lite.tier.node.LiteNode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.random.RandomGenerator;

/**
 * Applications that close the memory of an operation while it is under way. It ends as if nothing had happened, or fails with the JDK's
 * IllegalStateException; and its slots and buffers are given back.
 */
final class Segments implements Part {
    private static final int BYTES_MAX = 20_000;
    private static final long CLOSE_NS_MAX = 60_000;
    private static final Duration DEADLINE = Duration.ofMillis(300);
    /** Most servers serve by then; otherwise the call fails. */
    private static final long SERVED_NS = 100_000;

    private static final String FUNCTION = "closed segments of ";

    private final Cluster cluster;
    private final Simulation simulation;
    private int servers;

    Segments(Cluster cluster) {
        this.cluster = cluster;
        this.simulation = cluster.simulation();
    }

    @Override
    public int weight(Mix mix) {
        return switch (mix) {
            case TRANSFERS, CUTS -> 2;
            default -> 1;
        };
    }

    @Override
    public void step(App app) {
        RandomGenerator random = app.random;
        Arena arena = Arena.ofShared();
        MemorySegment segment = arena.allocate(1 + random.nextInt(BYTES_MAX));
        long closeNs = random.nextInt(3) == 0 ? random.nextLong(CLOSE_NS_MAX) : 0;
        CompletableFuture<Void> begins = new CompletableFuture<>();
        CompletableFuture<Void> closed = new CompletableFuture<>();
        simulation.start(app.process, "closes memory", random.nextBoolean(), () -> {
            begins.join();
            Pause.ns(simulation, closeNs);
            close(arena);
            closed.complete(null);
        });
        try {
            switch (random.nextInt(4)) {
                case 0 -> memory(app, segment, begins, false);
                case 1 -> memory(app, segment, begins, true);
                case 2 -> reply(app, segment, begins);
                default -> {
                    begins.complete(null);
                    app.lite.rpc().send(app.anyNode(), "no port", segment, DEADLINE);
                }
            }
        } catch (IllegalStateException e) {
            check(e);
        } finally {
            begins.complete(null);
            closed.join();
        }
    }

    /** An asynchronous operation keeps the memory open; then it is closed a little later. */
    private void close(Arena arena) {
        boolean open = true;
        while (open && !Thread.currentThread().isInterrupted()) {
            try {
                arena.close();
                open = false;
            } catch (IllegalStateException used) {
                Pause.ns(simulation, CLOSE_NS_MAX);
            }
        }
    }

    private static void check(IllegalStateException e) {
        if (!String.valueOf(e.getMessage()).contains("closed")) {
            throw e;
        }
    }

    private static void memory(App app, MemorySegment segment, CompletableFuture<Void> begins, boolean later) {
        RandomGenerator random = app.random;
        LmrHandle handle = app.lite.memory().malloc(LmrSpec.of(BYTES_MAX).withPlacement(Placement.on(app.anyNode())));
        try {
            begins.complete(null);
            for (int left = 1 + random.nextInt(4); left > 0; left--) {
                boolean write = random.nextBoolean();
                if (write && later) {
                    join(handle.writeAsync(0, segment));
                } else if (write) {
                    handle.write(0, segment);
                } else if (later) {
                    join(handle.readAsync(0, segment));
                } else {
                    handle.read(0, segment);
                }
            }
        } finally {
            handle.free();
        }
    }

    private static void join(CompletableFuture<?> future) {
        try {
            Object unused = future.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw e;
        }
    }

    /** Another node replies from memory that is closed meanwhile. Then it fails the call instead. */
    private void reply(App app, MemorySegment segment, CompletableFuture<Void> begins) {
        Member other =
                cluster.members().get(app.random.nextInt(cluster.members().size()));
        if (other.state() != Member.State.UP) {
            return;
        }
        String function = FUNCTION + ++servers;
        LiteNode node = other.node();
        simulation.start(other.process(), "replies", false, () -> {
            try (Lite brief = node.attach(Services.PRINCIPALS + "segments");
                    RpcServer server = brief.rpc().serve(function)) {
                RpcCall call = server.receive(DEADLINE);
                begins.complete(null);
                try {
                    call.reply(segment);
                } catch (IllegalStateException e) {
                    check(e);
                    call.fail(1, "its memory is closed");
                }
            } catch (LiteException e) {
                app.note("a reply from closed memory: " + e);
            }
        });
        Pause.ns(simulation, SERVED_NS);
        join(app.lite.rpc().callAsync(other.name(), function, new byte[1], DEADLINE));
    }
}
