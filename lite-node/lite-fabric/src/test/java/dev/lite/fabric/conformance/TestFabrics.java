package dev.lite.fabric.conformance;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.Post;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/** The fabrics of one case, all in this JVM. At the end it closes them and checks the general guarantees. */
public final class TestFabrics {
    /** Size of a node's memory; peers use the lower half. */
    static final long MEMORY_BYTES = 8 << 20;

    private static final long AWAIT_NS = 200_000;

    private final FabricProvider provider;
    private final Map<String, String> options;
    private final LongFunction<FabricMemory> memories;
    private final Consumer<FabricMemory> release;
    private final Path runDirectory;
    private final long seed;
    private final RandomGenerator random;
    private final AtomicLong lastContext = new AtomicLong();
    private final List<TestNode> nodes = new ArrayList<>();

    TestFabrics(
            FabricProvider provider,
            Map<String, String> options,
            LongFunction<FabricMemory> memories,
            Consumer<FabricMemory> release,
            Path runDirectory,
            long seed) {
        this.provider = provider;
        this.options = options;
        this.memories = memories;
        this.release = release;
        this.runDirectory = runDirectory;
        this.seed = seed;
        this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
    }

    /** Both endpoints of a connection. */
    record Pair(TestNode from, FabricEndpoint out, TestNode to, FabricEndpoint in) {}

    FabricProvider provider() {
        return provider;
    }

    RandomGenerator random() {
        return random;
    }

    long seed() {
        return seed;
    }

    TestNode open(String name) {
        return open(name, ("hello of " + name).getBytes(StandardCharsets.UTF_8));
    }

    TestNode open(String name, byte[] hello) {
        FabricMemory memory = memories.apply(MEMORY_BYTES);
        Recorder recorder = new Recorder(name, lastContext);
        Fabric fabric;
        try {
            fabric = provider.open(config(name, hello), recorder);
        } catch (RuntimeException e) {
            release.accept(memory);
            throw e;
        }
        TestNode node = new TestNode(name, fabric, recorder, memory);
        nodes.add(node);
        fabric.register(memory);
        return node;
    }

    FabricConfig config(String name, byte[] hello) {
        return new FabricConfig(name, hello, runDirectory, options);
    }

    /** Two new nodes, connected. */
    Pair pair() {
        return connect(open("alpha"), open("beta"));
    }

    /** Connects, and waits until both handlers were called. */
    Pair connect(TestNode from, TestNode to) {
        int before = to.recorder.acceptedEndpoints().size();
        FabricEndpoint out = from.connect(to);
        until(
                () -> from.isConnected(out) && to.recorder.acceptedEndpoints().size() > before,
                "%s and %s to be connected".formatted(from.name, to.name));
        return new Pair(from, out, to, to.recorder.acceptedEndpoints().get(before));
    }

    /** Polls every node that has no poll thread until the condition holds. */
    void until(BooleanSupplier condition, String what) {
        Deadline deadline = Deadline.generous();
        for (int turn = 0; !condition.getAsBoolean(); turn++) {
            deadline.check(what);
            if (step() == 0 && !condition.getAsBoolean()) {
                rest(turn);
            }
        }
    }

    /** Polls every node that has no poll thread once. */
    int step() {
        int handedOver = 0;
        for (TestNode node : List.copyOf(nodes)) {
            handedOver += node.isStepped() ? node.step() : 0;
        }
        return handedOver;
    }

    /** Polls until there were no events for a while. */
    void settle() {
        int idle = 0;
        Deadline deadline = Deadline.generous();
        for (int turn = 0; idle < 100; turn++) {
            deadline.check("the fabrics to become idle");
            idle = step() == 0 ? idle + 1 : 0;
            if (idle > 0) {
                rest(turn);
            }
        }
    }

    private void rest(int turn) {
        TestNode node = nodes.isEmpty() ? null : nodes.get(turn % nodes.size());
        if (node != null && node.isStepped()) {
            node.fabric.await(AWAIT_NS);
        } else {
            Deadline.pause();
        }
    }

    /** Posts, and repeats the post until it is not busy. Test thread. */
    Posted post(TestNode node, FabricEndpoint endpoint, Posted.Operation operation) {
        Posted posted = node.recorder.post(endpoint, operation);
        Deadline deadline = Deadline.generous();
        while (posted.answer() == Post.BUSY) {
            deadline.check("a busy endpoint to accept a post");
            step();
            posted = node.recorder.post(endpoint, operation);
        }
        if (!posted.wasTaken()) {
            throw new AssertionError(posted.toString());
        }
        return posted;
    }

    /** Posts and waits for success. Test thread. */
    void run(TestNode node, FabricEndpoint endpoint, Posted.Operation operation) {
        Posted posted = post(node, endpoint, operation);
        until(posted::isOver, "the end of " + posted);
        if (!posted.succeeded()) {
            throw new AssertionError(posted.toString());
        }
    }

    /** As {@link #post}, for a thread that does not hold the poll role. */
    static void runOn(TestNode node, FabricEndpoint endpoint, Posted.Operation operation) {
        Deadline deadline = Deadline.generous();
        Posted posted = node.recorder.post(endpoint, operation);
        while (posted.answer() == Post.BUSY) {
            deadline.check("a busy endpoint to accept a post");
            Deadline.pause();
            posted = node.recorder.post(endpoint, operation);
        }
        deadline.waitFor(posted::isOver, "the end of " + posted);
        if (!posted.succeeded()) {
            throw new AssertionError(posted.toString());
        }
    }

    /** Closes everything, then throws if any guarantee was violated. */
    void close() {
        List<String> broken = new ArrayList<>();
        for (TestNode node : nodes) {
            try {
                node.close();
                node.recorder.checkEnd();
            } catch (RuntimeException | AssertionError e) {
                broken.add("closing node %s: %s".formatted(node.name, e));
            }
        }
        for (TestNode node : nodes) {
            broken.addAll(node.recorder.violations());
            release.accept(node.memory);
        }
        if (!broken.isEmpty()) {
            throw new AssertionError("seed %d: %s".formatted(seed, String.join("\n", broken)));
        }
    }
}
