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

/** A driver without the tier: posts one operation and polls until it is done. One thread, which holds the poll role. */
final class BarePosts implements AutoCloseable, FabricHandler {
    private static final long BYTES = 1 << 20;
    private static final long AWAIT_NS = 100_000_000;
    private static final long DEADLINE_NS = 20_000_000_000L;

    private final Path sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
    private final SharedMemory memory = SharedMemory.createMemfd("bench", BYTES);
    private final Fabric fabric;
    private long completions;
    private String trouble = "";
    private boolean connected;
    private @Nullable FabricEndpoint endpoint;

    private BarePosts(FabricProvider provider) {
        fabric = provider.open(new FabricConfig("bare", new byte[0], sockets, RdmaPeer.options()), this);
        fabric.register(new FabricMemory(memory.segment(), memory.descriptor()));
    }

    /** One that others connect to, with a thread of its own. */
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

    /** One that is connected to another process's. */
    static BarePosts connect(FabricProvider provider, String address) {
        BarePosts bare = new BarePosts(provider);
        bare.endpoint = bare.fabric.connect(address);
        long endNs = System.nanoTime() + DEADLINE_NS;
        while (!bare.connected) {
            bare.fabric.poll(64);
            if (!bare.trouble.isEmpty() || System.nanoTime() - endNs > 0) {
                String why = bare.trouble;
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

    /** Writes so many times, each one after the other has ended. */
    void write(int bytes, int n) {
        FabricEndpoint to = connected();
        for (int i = 0; i < n; i++) {
            end(to.write(0, memory.address(), bytes, i));
        }
    }

    /** Reads so many times, each one after the other has ended. */
    void read(int bytes, int n) {
        FabricEndpoint from = connected();
        for (int i = 0; i < n; i++) {
            end(from.read(0, memory.address(), bytes, i));
        }
    }

    private FabricEndpoint connected() {
        FabricEndpoint connection = endpoint;
        if (connection == null) {
            throw new IllegalStateException("serves only");
        }
        return connection;
    }

    private void end(Post post) {
        if (post == Post.DONE) {
            return;
        }
        if (post != Post.ACCEPTED) {
            throw new IllegalStateException("a post of the only one under way answers %s; %s".formatted(post, trouble));
        }
        long before = completions;
        while (completions == before) {
            if (fabric.poll(16) == 0) {
                Thread.onSpinWait();
            }
        }
        if (!trouble.isEmpty()) {
            throw new IllegalStateException(trouble);
        }
    }

    @Override
    public void completed(FabricEndpoint at, long context) {
        completions++;
    }

    @Override
    public void failed(FabricEndpoint at, long context, FabricError error) {
        completions++;
        trouble = "an operation failed: " + error;
    }

    @Override
    public void immediate(FabricEndpoint at, int immediate) {
        // nobody sends one
    }

    @Override
    public void connected(FabricEndpoint at, boolean accepted) {
        connected = true;
    }

    @Override
    public void disconnected(FabricEndpoint at, String reason) {
        trouble = "disconnected: " + reason;
    }

    @Override
    public void close() {
        fabric.close();
        memory.close();
        BenchNodes.delete(sockets);
    }
}
