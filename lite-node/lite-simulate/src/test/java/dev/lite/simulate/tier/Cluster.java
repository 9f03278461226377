package dev.lite.simulate.tier;

import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.SimulatedManager;
import dev.lite.cluster.SimulatedStore;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.fabric.simulated.Timeline;
import dev.lite.simulate.engine.SimulatedProcess;
import dev.lite.simulate.engine.Simulation;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The nodes and managers of one history. */
public final class Cluster {
    /** After which memory of no LMR is freed. */
    public static final Duration ORPHAN_GRACE = Duration.ofSeconds(4);

    private static final long ARENA_BYTES = 24 << 20;
    private static final int MANAGERS = 2;
    private static final long LIMITS_AFTER_NS = 60_000_000;
    private static final int ATTEMPTS_MAX = 60;
    private static final long ATTEMPTS_NS = 1_000_000_000;
    private static final long CLOSE_REPORTED_NS_MAX = 20_000_000;

    /** Longer than the manager takes between two looks at the acknowledgements. */
    private static final long LATE_CLOSE_REPORTED_NS_MAX = 300_000_000;

    private final Simulation simulation;
    private final Shape shape;
    private final Path root;
    private final Rule rule;
    private final SimulatedStore store;
    private final SimulatedNetwork network;
    private final Touches touches;
    private final List<Member> members = new ArrayList<>();
    private final List<Manager> managers = new ArrayList<>();
    private Consumer<Member> whenStarted = member -> {};
    private Sent whenSent = (from, to, immediate, message) -> {};

    /** What follows each immediate that a node posts. */
    interface Sent {
        /**
         * Called at the moment of the post with the names of both nodes; must not block.
         *
         * @param message the address of the bytes that are written before the immediate arrives
         */
        void sent(String from, String to, int immediate, long message);
    }

    /** A manager by its number: a process after the other. */
    public final class Manager {
        private final String name;
        private SimulatedProcess process;
        private @Nullable SimulatedManager manager;

        Manager(String name) {
            this.name = name;
            this.process = new SimulatedProcess(name);
        }

        /** The current or last process. */
        public SimulatedProcess process() {
            return process;
        }

        /** Starts a process. */
        public void start() {
            process = new SimulatedProcess(name);
            simulation.start(process, "main", () -> manager = new SimulatedManager(store, name));
        }

        /** Kills the process between two steps; another starts after a while. */
        public void kill(long downNs) {
            SimulatedManager running = manager;
            if (running != null) {
                simulation.note(name + " is killed");
                manager = null;
                process.kill();
                running.abandon();
                simulation.after(downNs, this::start);
            }
        }

        boolean isUp() {
            return manager != null;
        }

        void stop() {
            if (manager != null) {
                manager.close();
                manager = null;
            }
        }
    }

    /** @param root of the arenas, on a memory file system; nothing of it may exist */
    public Cluster(Simulation simulation, Shape shape, Path root, Rule rule) {
        this.simulation = simulation;
        this.shape = shape;
        this.root = root;
        this.rule = rule;
        this.store = new SimulatedStore(simulation);
        this.touches = new Touches();
        this.network = new SimulatedNetwork(
                SimulatedOptions.seeded(simulation.streams().seedOf("network"))
                        .withSteps()
                        .withDelay(Duration.ofNanos(1_000), Duration.ofNanos(20_000)),
                touches);
        for (int i = 0; i < shape.nodes(); i++) {
            members.add(new Member(this, "n" + i));
        }
        for (int i = 0; i < MANAGERS; i++) {
            managers.add(new Manager("m" + i));
        }
    }

    /** Nobody touches another's memory after it was fenced, and nobody floods another with connections. */
    private final class Touches implements Timeline {
        /** When each connection was first used. */
        private final Map<String, Long> firstTouches = new HashMap<>();

        private final Map<String, ArrayDeque<Long>> attempts = new HashMap<>();
        private final RandomGenerator closing = simulation.streams().stream("closing");
        private final long closeReportedNsMax = shape.mix() == Mix.CUTS
                ? CLOSE_REPORTED_NS_MAX
                : shape.mix() == Mix.REMOVALS && closing.nextBoolean() ? LATE_CLOSE_REPORTED_NS_MAX : 0;

        @Override
        public void connects(String from, String to) {
            ArrayDeque<Long> ofPair = attempts.computeIfAbsent(from + to, key -> new ArrayDeque<>());
            ofPair.add(simulation.nowNs());
            if (ofPair.size() > ATTEMPTS_MAX && simulation.nowNs() - ofPair.remove() < ATTEMPTS_NS) {
                rule.broken("%s connected to %s more than %d times within %d ms"
                        .formatted(from, to, ATTEMPTS_MAX, ATTEMPTS_NS / 1_000_000));
            }
        }

        @Override
        public void sends(String from, String to, int immediate, long message) {
            whenSent.sent(nameOf(from), nameOf(to), immediate, message);
        }

        private String nameOf(String address) {
            return address.substring(address.indexOf(':') + 1);
        }

        @Override
        public long closeReportedAfterNs() {
            return closeReportedNsMax == 0 ? 0 : closing.nextLong(closeReportedNsMax);
        }

        @Override
        public long nowNs() {
            return simulation.nowNs();
        }

        @Override
        public void at(long atNs, Runnable action) {
            simulation.at(atNs, action);
        }

        @Override
        public void touches(String from, String to, long establishedNs) {
            // A node may register again while a connection is made, and uses it only under its new registration then.
            long firstNs = firstTouches.computeIfAbsent(
                    "%s %s %d".formatted(from, to, establishedNs), any -> simulation.nowNs());
            for (Incarnation each : incarnations) {
                // The registration under which the connection was first used.
                if (from.equals(each.address)
                        && each.sinceNs <= firstNs
                        && firstNs < each.untilNs
                        && isFenced(each)
                        && uses(latest(to))) {
                    rule.broken(
                            "node %s touches memory of %s by a connection that it used as incarnation %d, which is fenced"
                                    .formatted(each.record.name(), to, each.record.incarnation()));
                }
            }
        }

        /**
         * Whether a node uses its memory. Between its fencing and its rejoin it gives nothing to anybody, so another fenced node
         * may still touch it.
         */
        private boolean uses(@Nullable Incarnation each) {
            return !isFenced(each)
                    && (each == null
                            || members.stream()
                                    .noneMatch(member ->
                                            member.name().equals(each.record.name()) && member.isRegistrationLost()));
        }

        private boolean isFenced(@Nullable Incarnation each) {
            return each != null && store.epoch().isFenced(each.record.id(), each.record.incarnation());
        }

        private @Nullable Incarnation latest(String address) {
            return incarnations.reversed().stream()
                    .filter(each -> each.address.equals(address))
                    .findFirst()
                    .orElse(null);
        }
    }

    /** A registration, and when a node had it. */
    private static final class Incarnation {
        final NodeRecord record;
        final String address;
        final long sinceNs;
        long untilNs = Long.MAX_VALUE;

        Incarnation(NodeRecord record, String address, long sinceNs) {
            this.record = record;
            this.address = address;
            this.sinceNs = sinceNs;
        }
    }

    private final List<Incarnation> incarnations = new ArrayList<>();

    private void registered(NodeRecord record) {
        String address = record.fabrics().getOrDefault(SimulatedNetwork.NAME, "");
        for (Incarnation each : incarnations) {
            if (each.record.name().equals(record.name()) && each.untilNs == Long.MAX_VALUE) {
                each.untilNs = simulation.nowNs();
            }
        }
        incarnations.add(new Incarnation(record, address, simulation.nowNs()));
    }

    /** The simulation that runs it. */
    public Simulation simulation() {
        return simulation;
    }

    /** What kind of history it is. */
    public Shape shape() {
        return shape;
    }

    /** What the history broke. */
    public Rule rule() {
        return rule;
    }

    /** The directory's servers. */
    public SimulatedStore store() {
        return store;
    }

    /** What connects the nodes. */
    public SimulatedNetwork network() {
        return network;
    }

    /** The nodes. */
    public List<Member> members() {
        return members;
    }

    /** The managers. */
    public List<Manager> managers() {
        return managers;
    }

    LiteNodeConfig config(String name) {
        return LiteNodeConfig.builder("sim", name, ARENA_BYTES, root.resolve("run-" + name))
                .arena(root.resolve("arenas"), true)
                .limits(new LiteNodeConfig.Limits(Long.MAX_VALUE, 1 << 20, 0, 8))
                .deadline(shape.deadline())
                .pollSpins(20)
                .build();
    }

    /** Sets what follows each start of a node, on its process's thread. */
    public void whenStarted(Consumer<Member> action) {
        whenStarted = action;
    }

    /** Sets what follows each immediate that a node posts. */
    void whenSent(Sent action) {
        whenSent = action;
    }

    void started(Member member) {
        if (shape.nearLimits()) {
            Limits.nearLastGeneration(member.node());
            // Later, when some ids were drawn: those that come after the last ones must not be the same.
            LiteNode node = member.node();
            simulation.after(LIMITS_AFTER_NS, () -> Limits.nearLastLmrId(node));
        }
        whenStarted.accept(member);
    }

    /** Starts everything. */
    public void start() {
        store.whenRegistered(this::registered);
        store.setNewsNsMax(shape.newsNsMax());
        if (shape.nearLimits()) {
            store.beginIncarnationsAt(Limits.OWN_ID_BLOCKS - 2);
        }
        managers.forEach(Manager::start);
        members.forEach(Member::start);
    }

    /** Whether all nodes run and each is connected with each. */
    public boolean isWhole() {
        return members.stream()
                        .allMatch(member -> member.state() == Member.State.UP && connections(member) == members.size())
                && managers.stream().allMatch(Manager::isUp)
                && store.epoch().pending().isEmpty();
    }

    private static long connections(Member member) {
        LiteNode node = member.node();
        return node.nodes().stream()
                .filter(peer -> !peer.fabric().equals("none"))
                .count();
    }

    /** Where the nodes stand, in words. */
    public String describe() {
        StringBuilder text = new StringBuilder();
        for (Member member : members) {
            text.append(member.name()).append(' ').append(member.state());
            if (member.state() == Member.State.UP) {
                text.append(' ').append(member.node().nodes());
            }
            text.append("; ");
        }
        return text.append(store.epoch()).toString();
    }

    /** The bytes of LMRs that stay at a node when everything is freed: the words of locks and barriers. */
    public long bytesKept(Member member) {
        return 1 << 20;
    }

    /** Takes the memory back of a history that will not go on. */
    public void abandon() {
        members.forEach(Member::abandon);
    }
}
