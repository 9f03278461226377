package dev.lite.bench;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.Post;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Polling;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Uses a fabric driver without the tier: posts one operation and polls until it completes. Used by one thread, which holds
 * the poll role.
 */
final class BarePosts implements AutoCloseable, FabricHandler {
    private static final long BYTES = 1 << 20;
    private static final long AWAIT_NS = 100_000_000;
    private static final long DEADLINE_NS = 20_000_000_000L;

    private final Path sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
    private final SharedMemory memory = SharedMemory.createMemfd("bench", BYTES);
    private final Fabric fabric;
    private long completions;
    private String failure = "";
    private boolean connected;
    private @Nullable FabricEndpoint endpoint;

    private BarePosts(FabricProvider provider) {
        fabric = provider.open(new FabricConfig("bare", new byte[0], sockets, RdmaPeer.options()), this);
        fabric.register(new FabricMemory(memory.segment(), memory.descriptor()));
    }

    /** Starts a server for another process, with a thread of its own. */
    static BarePosts serve(FabricProvider provider) {
        BarePosts bare = new BarePosts(provider);
        Thread.ofPlatform().daemon().name("bench-bare").start(() -> {
            while (true) {
                if (bare.fabric.poll(64) == 0) {
                    bare.fabric.await(AWAIT_NS);
                }
            }
        });
        return bare;
    }

    /** Connects to the server of another process. */
    static BarePosts connect(FabricProvider provider, String address) {
        BarePosts bare = new BarePosts(provider);
        bare.endpoint = bare.fabric.connect(address);
        long endNs = System.nanoTime() + DEADLINE_NS;
        while (!bare.connected) {
            bare.fabric.poll(64);
            if (!bare.failure.isEmpty() || System.nanoTime() - endNs > 0) {
                String why = bare.failure;
                bare.close();
                throw new IllegalStateException("the bare driver is not connected to %s: %s".formatted(address, why));
            }
            Polling.sleepNs(1_000_000);
        }
        return bare;
    }

    String address() {
        return fabric.localAddress();
    }

    /** Writes {@code n} times, one at a time. */
    void write(int bytes, int n) {
        FabricEndpoint to = connected();
        for (int i = 0; i < n; i++) {
            end(to.write(0, memory.address(), bytes, i));
        }
    }

    /** Reads {@code n} times, one at a time. */
    void read(int bytes, int n) {
        FabricEndpoint from = connected();
        for (int i = 0; i < n; i++) {
            end(from.read(0, memory.address(), bytes, i));
        }
    }

    private FabricEndpoint connected() {
        FabricEndpoint connection = endpoint;
        if (connection == null) {
            throw new IllegalStateException("this is a server without a connection");
        }
        return connection;
    }

    private void end(Post post) {
        if (post == Post.DONE) {
            return;
        }
        if (post != Post.ACCEPTED) {
            throw new IllegalStateException(
                    "posting the only outstanding operation returned %s; %s".formatted(post, failure));
        }
        long before = completions;
        while (completions == before) {
            if (fabric.poll(16) == 0) {
                Thread.onSpinWait();
            }
        }
        if (!failure.isEmpty()) {
            throw new IllegalStateException(failure);
        }
    }

    @Override
    public void completed(FabricEndpoint at, long context) {
        completions++;
    }

    @Override
    public void failed(FabricEndpoint at, long context, FabricError error) {
        completions++;
        failure = "an operation failed: " + error;
    }

    @Override
    public void immediate(FabricEndpoint at, int immediate) {
        // never sent here
    }

    @Override
    public void connected(FabricEndpoint at, boolean accepted) {
        connected = true;
    }

    @Override
    public void disconnected(FabricEndpoint at, String reason) {
        failure = "disconnected: " + reason;
    }

    @Override
    public void close() {
        fabric.close();
        memory.close();
        BenchNodes.delete(sockets);
    }
}
