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
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.jspecify.annotations.Nullable;

/**
 * Several fabrics in one JVM with a virtual clock. Every delay, every order and every fault comes from the seed, so a run
 * driven by one thread is exactly repeatable: the same seed gives the same {@link #trace}.
 *
 * <p>Operations answer {@link dev.lite.fabric.Post#ACCEPTED}, reach the peer's memory after a random delay and complete
 * after another delay. Posts to one endpoint overtake each other wherever the SPI allows it. Operations that are outstanding
 * when their connection ends may or may not have been executed.
 *
 * <p>{@link #step}, {@link #runUntil} and {@link #runUntilIdle} move the clock. Unless the options say
 * {@link SimulatedOptions#stepped}, {@link Fabric#poll} and {@link Fabric#await} of any fabric of the network also move it.
 *
 * <p>With a {@link Timeline}, the clock is that one's, and nothing here moves it.
 *
 * <p>Any thread may call any method.
 */
public final class SimulatedNetwork {
    /** The driver's name. */
    public static final String NAME = "simulated";

    /** Maximum number of trace lines that are kept; {@link #traceHash} covers all lines. */
    public static final int TRACE_LINES_MAX = 20_000;

    /** @param needs the fabric that must not be paused for the event, or null */
    private record Event(long atNs, long number, @Nullable SimulatedFabric needs, Runnable action) {}

    private final SimulatedOptions options;
    private final @Nullable Timeline timeline;
    private final RandomGenerator random;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atNs).thenComparingLong(Event::number));

    /** Events of paused fabrics, in the order in which they were due. */
    private final List<Event> heldBack = new ArrayList<>();

    /** Waiting threads of a simulation with a timeline, which runs one thread at a time. */
    private final List<Thread> waiters = new ArrayList<>();

    private final Map<String, SimulatedFabric> fabrics = new LinkedHashMap<>();
    private final Queue<String> trace = new ArrayDeque<>();
    private long traceHash;
    private long clockNs;
    private long eventNumber;
    private int fabricNumber;
    private int endpointNumber;

    /** Creates a network without nodes, with its clock at 0. */
    public SimulatedNetwork(SimulatedOptions options) {
        this(options, null);
    }

    /** Takes part in a simulation: events happen at the times of this clock. Only for stepped options. */
    public SimulatedNetwork(SimulatedOptions options, @Nullable Timeline timeline) {
        if (timeline != null && !options.stepped()) {
            throw new IllegalArgumentException("a network with a timeline needs stepped options");
        }
        this.options = options;
        this.timeline = timeline;
        this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(options.seed());
    }

    /** The options of this network. */
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
        return locked(this::clockNs);
    }

    /**
     * Moves the clock to the next event and executes it. Handlers run only in {@link Fabric#poll}.
     *
     * @return false if there was none
     */
    public boolean step() {
        return locked(this::stepLocked);
    }

    /** Executes every event up to this virtual time, and sets the clock to it. */
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
     * @param turnsMax maximum number of turns
     * @throws IllegalStateException if it is not done after these, or if no event is left; the message names the seed
     */
    public void runUntil(BooleanSupplier done, int turnsMax) {
        for (int turn = 0; !done.getAsBoolean(); turn++) {
            if (turn == turnsMax) {
                throw new IllegalStateException("not done after %d turns: %s".formatted(turnsMax, this));
            }
            boolean stepped = step();
            int handedOver = pollAll();
            if (!stepped && handedOver == 0 && !done.getAsBoolean()) {
                throw new IllegalStateException("not done, and no event is left: " + this);
            }
        }
    }

    /**
     * Takes turns like {@link #runUntil(BooleanSupplier, int)} until no event is left.
     *
     * @throws IllegalStateException if an event is left after {@code turnsMax} turns; the message names the seed
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
     * Pauses a node: its posts reach no peer, it accepts no connection, and its polls deliver nothing. Other nodes can still
     * read and write its memory.
     */
    public void pause(String node) {
        locked(() -> {
            trace(node + " pauses");
            return named(node).pause();
        });
    }

    /** Resumes a paused node. */
    public void resume(String node) {
        locked(() -> {
            SimulatedFabric fabric = named(node);
            resume(fabric, fabric.latestPause());
            return true;
        });
    }

    /** Breaks every connection between two nodes. Both learn of it, at different times. */
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

    /**
     * Breaks every connection between two nodes. The first one hears of it in its own time, the other only after a delay: until
     * then it has a half-open connection.
     */
    public void halfOpen(String node, String other, long delayNs) {
        locked(() -> {
            String peer = named(other).node();
            for (SimulatedEndpoint endpoint : List.copyOf(named(node).endpoints())) {
                if (endpoint.peerNode().equals(peer)) {
                    endpoint.dropHalf(delayNs);
                }
            }
            return true;
        });
    }

    /**
     * Ends a node whose threads were killed: its peers hear of it, each in its own time, and nobody touches its memory from now
     * on.
     */
    public void vanish(String node) {
        locked(() -> {
            named(node).vanish();
            return true;
        });
    }

    /** The events so far, one per line, at most the last {@value #TRACE_LINES_MAX}. */
    public List<String> trace() {
        return locked(() -> List.copyOf(trace));
    }

    /** A hash over all lines of the trace. */
    public long traceHash() {
        return locked(() -> traceHash);
    }

    @Override
    public String toString() {
        return locked(() -> "simulated network [seed %d, %d ns, %d events ahead, %d held back]"
                .formatted(options.seed(), clockNs(), events.size(), heldBack.size()));
    }

    // The following methods are for the fabrics and endpoints of this network, which call them under the lock.

    <T extends @Nullable Object> T locked(Supplier<T> body) {
        lock.lock();
        try {
            return body.get();
        } finally {
            lock.unlock();
        }
    }

    /** Without the lock: waits in real time until the condition holds, and moves the clock if polling does. */
    void await(long timeoutNs, BooleanSupplier condition) {
        if (timeline != null) {
            awaitInTimeline(timeoutNs, condition, timeline);
            return;
        }
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

    /** Without a condition of the lock: threads of killed nodes would stay in its queue and take the signals of the others. */
    private void awaitInTimeline(long timeoutNs, BooleanSupplier condition, Timeline time) {
        Thread thread = Thread.currentThread();
        long endNs = time.nowNs() + Math.min(timeoutNs, Long.MAX_VALUE / 4);
        waiters.add(thread);
        try {
            while (!locked(condition::getAsBoolean) && time.nowNs() < endNs && !thread.isInterrupted()) {
                LockSupport.parkNanos(endNs - time.nowNs());
            }
        } finally {
            waiters.remove(thread);
        }
    }

    private boolean stepLocked() {
        Event event = events.poll();
        if (event == null) {
            return false;
        }
        clockNs = Math.max(clockNs, event.atNs);
        carryOut(event);
        return true;
    }

    private void carryOut(Event event) {
        if (event.needs != null && event.needs.isPaused()) {
            heldBack.add(event);
        } else {
            event.action.run();
        }
    }

    void schedule(long atNs, @Nullable SimulatedFabric needs, Runnable action) {
        add(new Event(atNs, eventNumber++, needs, action));
    }

    private void add(Event event) {
        if (timeline == null) {
            events.add(event);
            signal();
        } else {
            timeline.at(
                    event.atNs,
                    () -> locked(() -> {
                        carryOut(event);
                        return true;
                    }));
        }
    }

    void connects(SimulatedFabric from, String to) {
        if (timeline != null) {
            timeline.connects(from.address(), to);
        }
    }

    void touches(SimulatedFabric from, SimulatedFabric to, long establishedNs) {
        if (timeline != null) {
            timeline.touches(from.address(), to.address(), establishedNs);
        }
    }

    void sends(SimulatedFabric from, SimulatedFabric to, int immediate, long message) {
        if (timeline != null) {
            timeline.sends(from.address(), to.address(), immediate, message);
        }
    }

    long closeReportedAfterNs() {
        return timeline == null ? 0 : timeline.closeReportedAfterNs();
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
                // Due now, with its old number, so that the order of the held events is kept.
                add(new Event(Math.max(clockNs(), event.atNs), event.number, fabric, event.action));
            }
        }
        signal();
    }

    /** The arrival time of something that is sent now. */
    long arrivalNs() {
        return clockNs() + random.nextLong(options.delayNsMin(), options.delayNsMax() + 1);
    }

    long clockNs() {
        return timeline == null ? clockNs : timeline.nowNs();
    }

    boolean chance(double probability) {
        return probability > 0 && random.nextDouble() < probability;
    }

    /** Called after each accepted post. */
    void injectFaults(SimulatedEndpoint endpoint) {
        if (chance(options.dropRate())) {
            schedule(arrivalNs(), null, endpoint::drop);
        }
        SimulatedFabric fabric = endpoint.fabric;
        if (!fabric.isPaused() && chance(options.pauseRate())) {
            trace(fabric.node() + " pauses");
            int pause = fabric.pause();
            schedule(clockNs() + 1 + random.nextLong(options.pauseNsMax()), null, () -> resume(fabric, pause));
        }
    }

    void signal() {
        changed.signalAll();
        List.copyOf(waiters).forEach(LockSupport::unpark);
    }

    void trace(String what) {
        String line = clockNs() + " " + what;
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
        // Peers that were connecting to it while it was paused learn that it is gone.
        releaseHeldBack(fabric);
    }

    int nextEndpointNumber() {
        return endpointNumber++;
    }

    /** Whether a fabric of this node is open. */
    public boolean has(String node) {
        return locked(
                () -> fabrics.values().stream().anyMatch(fabric -> fabric.node().equals(node)));
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
