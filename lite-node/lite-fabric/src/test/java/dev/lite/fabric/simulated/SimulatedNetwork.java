package dev.lite.fabric.simulated;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.jspecify.annotations.Nullable;

/**
 * Several fabrics in one JVM with a virtual clock. Every delay, every order and every fault comes from the seed, so a run
 * that one thread drives is exactly repeatable: same seed, same {@link #trace}.
 *
 * <p>Operations answer {@link dev.lite.fabric.Post#ACCEPTED}, reach the peer's memory after a random delay and complete
 * after another. Posts to one endpoint overtake each other wherever the SPI allows it. What was under way when a
 * connection went may have been carried out or not.
 *
 * <p>The clock moves with {@link #step}, {@link #runUntil} and {@link #runUntilIdle}; unless the options say
 * {@link SimulatedOptions#stepped}, also with {@link Fabric#poll} and {@link Fabric#await} of any fabric of the network.
 *
 * <p>Any thread may call any method.
 */
public final class SimulatedNetwork {
    /** The driver's name. */
    public static final String NAME = "simulated";

    /** How many lines of the trace are kept; {@link #traceHash} covers all. */
    public static final int TRACE_LINES_MAX = 20_000;

    /** @param needs the fabric that must not be paused, or null */
    private record Event(long atNs, long number, @Nullable SimulatedFabric needs, Runnable action) {}

    private final SimulatedOptions options;
    private final RandomGenerator random;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atNs).thenComparingLong(Event::number));

    /** Events of paused fabrics, in the order in which they were due. */
    private final List<Event> heldBack = new ArrayList<>();

    private final Map<String, SimulatedFabric> fabrics = new LinkedHashMap<>();
    private final Queue<String> trace = new ArrayDeque<>();
    private long traceHash;
    private long clockNs;
    private long eventNumber;
    private int fabricNumber;
    private int endpointNumber;

    /** With its clock at 0 and nobody in it. */
    public SimulatedNetwork(SimulatedOptions options) {
        this.options = options;
        this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(options.seed());
    }

    /** What it was made with. */
    public SimulatedOptions options() {
        return options;
    }

    /** Opens fabrics that reach each other through this network. It takes no options. */
    public FabricProvider provider() {
        return new FabricProvider() {
            @Override
            public String name() {
                return NAME;
            }

            @Override
            public Optional<String> unavailable() {
                return Optional.empty();
            }

            @Override
            public Fabric open(FabricConfig config, FabricHandler handler) {
                return SimulatedNetwork.this.open(config, handler);
            }
        };
    }

    private Fabric open(FabricConfig config, FabricHandler handler) {
        if (!config.options().isEmpty()) {
            throw new IllegalArgumentException("the simulated fabric takes no options; got "
                    + config.options().keySet());
        }
        return locked(() -> {
            String address = "simulated-" + ++fabricNumber + ":" + config.node();
            SimulatedFabric fabric = new SimulatedFabric(this, address, config, handler);
            fabrics.put(address, fabric);
            trace(fabric.node() + " opens " + address);
            return fabric;
        });
    }

    /** The virtual time, in nanoseconds. */
    public long nowNs() {
        return locked(() -> clockNs);
    }

    /**
     * Moves the clock to the next event and carries it out. Handlers run only in {@link Fabric#poll}.
     *
     * @return false when there was none
     */
    public boolean step() {
        return locked(this::stepLocked);
    }

    /** Carries out every event up to this virtual time, which is the time afterwards. */
    public void runUntil(long timeNs) {
        locked(() -> {
            for (Event next = events.peek(); next != null && next.atNs <= timeNs; next = events.peek()) {
                stepLocked();
            }
            clockNs = Math.max(clockNs, timeNs);
            return true;
        });
    }

    /**
     * Takes turns in one step and one poll of every fabric until {@code done}. The caller holds the poll role of every
     * fabric.
     *
     * @param turnsMax how many turns at most
     * @throws IllegalStateException when it is not done after these, or when nothing is left that could happen; the
     *     message names the seed
     */
    public void runUntil(BooleanSupplier done, int turnsMax) {
        for (int turn = 0; !done.getAsBoolean(); turn++) {
            if (turn == turnsMax) {
                throw new IllegalStateException("not done after %d turns: %s".formatted(turnsMax, this));
            }
            boolean stepped = step();
            int handedOver = pollAll();
            if (!stepped && handedOver == 0 && !done.getAsBoolean()) {
                throw new IllegalStateException("not done, and nothing is left to happen: " + this);
            }
        }
    }

    /**
     * Takes turns as {@link #runUntil(BooleanSupplier, int)} does until nothing is left that could happen.
     *
     * @throws IllegalStateException when something is left after {@code turnsMax} turns; the message names the seed
     */
    public void runUntilIdle(int turnsMax) {
        for (int turn = 0; turn < turnsMax; turn++) {
            boolean stepped = step();
            if (pollAll() == 0 && !stepped) {
                return;
            }
        }
        throw new IllegalStateException("not idle after %d turns: %s".formatted(turnsMax, this));
    }

    private int pollAll() {
        int handedOver = 0;
        for (SimulatedFabric fabric : locked(() -> List.copyOf(fabrics.values()))) {
            handedOver += fabric.poll(Integer.MAX_VALUE);
        }
        return handedOver;
    }

    /**
     * Stops a node: its posts do not reach anybody, it accepts no connection, its polls hand nothing over. Others still
     * read and write its memory.
     */
    public void pause(String node) {
        locked(() -> {
            trace(node + " pauses");
            return named(node).pause();
        });
    }

    /** Lets a node go on where it was stopped. */
    public void resume(String node) {
        locked(() -> {
            SimulatedFabric fabric = named(node);
            resume(fabric, fabric.latestPause());
            return true;
        });
    }

    /** Breaks every connection between two nodes. Both hear of it, each in its own time. */
    public void drop(String node, String other) {
        locked(() -> {
            String peer = named(other).node();
            for (SimulatedEndpoint endpoint : List.copyOf(named(node).endpoints())) {
                if (endpoint.peerNode().equals(peer)) {
                    endpoint.drop();
                }
            }
            return true;
        });
    }

    /** What happened, one line each, at most the last {@value #TRACE_LINES_MAX}. */
    public List<String> trace() {
        return locked(() -> List.copyOf(trace));
    }

    /** A hash over every line of the trace since the beginning. */
    public long traceHash() {
        return locked(() -> traceHash);
    }

    @Override
    public String toString() {
        return locked(() -> "simulated network [seed %d, %d ns, %d events ahead, %d held back]"
                .formatted(options.seed(), clockNs, events.size(), heldBack.size()));
    }

    // What follows is for the fabrics and endpoints of this network, and is called under the lock.

    <T extends @Nullable Object> T locked(Supplier<T> body) {
        lock.lock();
        try {
            return body.get();
        } finally {
            lock.unlock();
        }
    }

    /** Not under the lock. Moves the clock, if polling does, until the condition holds; then waits in real time. */
    void await(long timeoutNs, BooleanSupplier condition) {
        long leftNs = timeoutNs;
        lock.lock();
        try {
            while (!condition.getAsBoolean()) {
                if (!options.stepped() && stepLocked()) {
                    continue;
                }
                if (leftNs <= 0) {
                    return;
                }
                leftNs = changed.awaitNanos(leftNs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    private boolean stepLocked() {
        Event event = events.poll();
        if (event == null) {
            return false;
        }
        clockNs = Math.max(clockNs, event.atNs);
        if (event.needs != null && event.needs.isPaused()) {
            heldBack.add(event);
        } else {
            event.action.run();
        }
        return true;
    }

    void schedule(long atNs, @Nullable SimulatedFabric needs, Runnable action) {
        events.add(new Event(atNs, eventNumber++, needs, action));
        signal();
    }

    private void resume(SimulatedFabric fabric, int pause) {
        if (!fabric.resume(pause)) {
            return;
        }
        trace(fabric.node() + " resumes");
        releaseHeldBack(fabric);
    }

    private void releaseHeldBack(SimulatedFabric fabric) {
        for (Event event : List.copyOf(heldBack)) {
            if (event.needs == fabric) {
                heldBack.remove(event);
                // Due now, with its old number: what was due later than it still comes later.
                events.add(new Event(Math.max(clockNs, event.atNs), event.number, fabric, event.action));
            }
        }
        signal();
    }

    /** When something sent now arrives. */
    long arrivalNs() {
        return clockNs + random.nextLong(options.delayNsMin(), options.delayNsMax() + 1);
    }

    long clockNs() {
        return clockNs;
    }

    boolean chance(double probability) {
        return probability > 0 && random.nextDouble() < probability;
    }

    /** After each accepted post. */
    void injectFaults(SimulatedEndpoint endpoint) {
        if (chance(options.dropRate())) {
            schedule(arrivalNs(), null, endpoint::drop);
        }
        SimulatedFabric fabric = endpoint.fabric;
        if (!fabric.isPaused() && chance(options.pauseRate())) {
            trace(fabric.node() + " pauses");
            int pause = fabric.pause();
            schedule(clockNs + 1 + random.nextLong(options.pauseNsMax()), null, () -> resume(fabric, pause));
        }
    }

    void signal() {
        changed.signalAll();
    }

    void trace(String what) {
        String line = clockNs + " " + what;
        if (trace.size() == TRACE_LINES_MAX) {
            trace.remove();
        }
        trace.add(line);
        traceHash = 31 * traceHash + line.hashCode();
    }

    @Nullable
    SimulatedFabric at(String address) {
        return fabrics.get(address);
    }

    void remove(SimulatedFabric fabric) {
        fabrics.remove(fabric.address());
        trace(fabric.node() + " closes");
        // Whoever was connecting to it while it was paused shall hear that it is gone.
        releaseHeldBack(fabric);
    }

    int nextEndpointNumber() {
        return endpointNumber++;
    }

    private SimulatedFabric named(String node) {
        for (SimulatedFabric fabric : fabrics.values()) {
            if (fabric.node().equals(node)) {
                return fabric;
            }
        }
        throw new IllegalArgumentException("no open fabric of node " + node + " in " + this);
    }
}
