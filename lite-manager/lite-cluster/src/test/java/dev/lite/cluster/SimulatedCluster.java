package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.EpochStore.Ack;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A simulated cluster without threads and clocks: a directory, two managers that run the real {@link EpochKeeper} and both believe
 * that they lead, and nodes that follow the rules of the tier. A seed determines the events: messages are delayed, lost and reordered,
 * answers are lost, sessions end, and processes are paused, killed and restarted. Such events also happen between two steps of a
 * manager. Each history is checked while it runs; see {@link #violation}.
 *
 * <p>Two nodes whose ids are both even, or both odd, share a host. One has the other's memory mapped, so cutting a link does not end
 * its access.
 */
final class SimulatedCluster {
    /** Deliberate defects, to prove that the checks detect them. */
    enum Defect {
        NONE,
        /** The leader does not wait for acknowledgements. */
        FENCE_AT_ONCE,
        /** A node acknowledges before it has cut its links. */
        ACKNOWLEDGE_BEFORE_THE_CUT,
        /** A node mistakes the end of a link for the end of a process that has its memory mapped. */
        TRUST_THE_CUT_OF_A_MAPPING,
        /** A node that registered again keeps its old links and rights. */
        KEEP_LINKS_AFTER_A_NEW_REGISTRATION,
        /** A node does not read the epoch between its registration and its first connection. */
        CONNECT_BEFORE_THE_EPOCH_IS_READ
    }

    static final String UNSETTLED = "not every removal is fenced";

    private static final int NODES = 5;
    private static final int STEPS = 400;
    private static final int SETTLE_STEPS = 4000;

    private final Random random;
    private final Defect defect;

    // The directory.
    private Epoch epoch = Epoch.NONE;
    private int version;
    private final Map<Integer, NodeRecord> live = new TreeMap<>();
    private final long[] incarnations = new long[NODES];
    private final Map<Integer, Ack> acks = new HashMap<>();

    private final List<Proc> processes = new ArrayList<>();
    private final List<Runnable> messages = new ArrayList<>();
    private final List<Manager> managers = List.of(new Manager(), new Manager());
    private long lastProcess;
    private boolean calm;
    private int depth;
    private @Nullable String violation;
    private int touches;
    private int fences;

    SimulatedCluster(Random random, Defect defect) {
        this.random = random;
        this.defect = defect;
        for (int id = 0; id < NODES; id++) {
            processes.add(new Proc(id));
        }
    }

    /** The result of a history. */
    record Outcome(@Nullable String violation, int touches, int fences, long epochs) {}

    Outcome run() {
        for (int step = 0; step < STEPS && violation == null; step++) {
            step();
        }
        settle();
        return new Outcome(violation, touches, fences, epoch.number());
    }

    /** Runs on without faults until every removal must be fenced. */
    private void settle() {
        calm = true;
        processes.forEach(process -> process.paused = false);
        for (int step = 0; step < SETTLE_STEPS && violation == null; step++) {
            step();
            if (epoch.pending().isEmpty()
                    && epoch.members().stream().map(Epoch.Member::id).toList().equals(List.copyOf(live.keySet()))
                    && processes.stream().allMatch(process -> process.dead || process.isRegistered())) {
                return;
            }
        }
        if (violation == null) {
            violation = UNSETTLED + ": %s, live %s".formatted(epoch, live.values());
        }
    }

    private void fail(String what) {
        if (violation == null) {
            violation = what;
        }
    }

    private boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    private void step() {
        int kind = random.nextInt(100);
        Proc process = processes.get(random.nextInt(processes.size()));
        if (kind < 25 && !messages.isEmpty()) {
            messages.remove(random.nextInt(messages.size())).run();
        } else if (kind < 40) {
            managers.get(random.nextInt(managers.size())).work();
        } else if (kind < 60) {
            process.touch();
        } else if (kind < 72) {
            process.connect(processes.get(random.nextInt(processes.size())));
        } else if (kind < 92) {
            process.act();
        } else if (!calm) {
            fault(process);
        }
    }

    private void fault(Proc process) {
        switch (random.nextInt(5)) {
            case 0, 1 -> process.expire();
            case 2 -> process.paused = true;
            case 3 -> process.paused = false;
            default -> {
                if (chance(0.4)) {
                    process.dead = true;
                }
                // Even if a process with this name still runs: the directory must refuse the second one.
                if (processes.stream().filter(other -> !other.dead).count() < NODES + 2) {
                    processes.add(new Proc(process.id));
                }
            }
        }
    }

    /** Lets random events happen between two steps of a manager. */
    private void pass() {
        if (depth < 3) {
            depth++;
            for (int steps = chance(0.3) ? random.nextInt(30) : 0; steps > 0; steps--) {
                step();
            }
            depth--;
        }
    }

    private void answer(double lost) {
        if (!calm && chance(lost)) {
            throw new ClusterUnavailableException("the answer is lost");
        }
    }

    /** A manager, whose view of the directory dates from its last request. */
    private final class Manager implements EpochStore {
        private final EpochKeeper keeper = new EpochKeeper(this, deadline -> {
            pass();
            return true;
        });
        private boolean working;

        void work() {
            if (working) {
                return;
            }
            working = true;
            try {
                int done = keeper.doWork(Duration.ZERO);
                if (done > 1) {
                    fail("one step made " + done + " changes");
                }
            } catch (ClusterUnavailableException e) {
                // It checks again in its next step.
                return;
            } finally {
                working = false;
            }
        }

        @Override
        public Snapshot snapshot(Duration deadline) {
            Epoch epochThen = epoch;
            int versionThen = version;
            pass();
            List<Known> known = new ArrayList<>();
            for (int id = 0; id < NODES; id++) {
                known.add(new Known(id, "n" + id, incarnations[id]));
            }
            pass();
            List<NodeRecord> liveThen = List.copyOf(live.values());
            pass();
            answer(0.1);
            Map<Integer, Ack> acksThen = new HashMap<>(acks);
            if (defect == Defect.FENCE_AT_ONCE) {
                liveThen.forEach(node -> acksThen.put(node.id(), new Ack(node.incarnation(), Long.MAX_VALUE)));
            }
            return new Snapshot(epochThen, versionThen, known, liveThen, acksThen);
        }

        @Override
        public boolean replace(Snapshot seen, Epoch next, Duration deadline) {
            pass();
            answer(0.1);
            boolean same = version == seen.version();
            if (same) {
                check(next);
                epoch = next;
                version++;
                processes.forEach(process -> messages.add(process::receive));
            }
            answer(0.1);
            return same;
        }
    }

    private void check(Epoch next) {
        long growth = next.number() - epoch.number();
        boolean fence = next.pending().size() < epoch.pending().size() && growth == 0;
        if (growth != 1 && !fence) {
            fail("after %s came %s".formatted(epoch, next));
        }
        for (Epoch.Removal removal : next.removals()) {
            NodeRecord node = live.get(removal.id());
            if (node != null && node.incarnation() <= removal.incarnation()) {
                fail("%s is live and was removed by %s".formatted(node, next));
            }
        }
        if (next.removals().size() > 2 * NODES) {
            fail("%d removals are kept of %d nodes".formatted(next.removals().size(), NODES));
        }
        for (Epoch.Removal removal : epoch.removals()) {
            if (next.removedUpTo(removal.id()) < removal.incarnation()
                    || (removal.fenced() && next.fencedUpTo(removal.id()) < removal.incarnation())) {
                fail("%s forgets %s".formatted(next, removal));
            }
        }
        if (fence) {
            fences++;
            checkFence(next);
        }
    }

    /** Checks that every live member has acknowledged, according to the node itself. */
    private void checkFence(Epoch next) {
        for (Epoch.Removal removal : next.removals()) {
            if (!removal.fenced() || removal.incarnation() <= epoch.fencedUpTo(removal.id())) {
                continue;
            }
            for (Epoch.Member member : next.members()) {
                for (Proc process : processes) {
                    boolean isMember =
                            process.id == member.id() && process.actsAs == member.incarnation() && process.isLive();
                    if (isMember && process.acknowledged < removal.epoch()) {
                        fail("%s was fenced; %s acknowledged %d".formatted(removal, member, process.acknowledged));
                    }
                }
            }
        }
    }

    /** A connection, seen from the accepting side. */
    private record Link(Proc from, long incarnation) {}

    /** One process of a node. */
    private final class Proc {
        final int id;
        final long number = ++lastProcess;
        /** The incarnation in the directory; 0 before the first registration. */
        long registered;
        /** The incarnation whose rights it uses: {@link #registered}, or 0 between its end and the first read of the epoch after the next registration. */
        long actsAs;

        boolean dead;
        boolean paused;
        long acknowledged;
        Epoch epochSeen = Epoch.NONE;
        Map<Integer, NodeRecord> liveSeen = Map.of();
        final List<Link> links = new ArrayList<>(); // accepted from other nodes
        final Set<Proc> mappedBy = new HashSet<>();

        Proc(int id) {
            this.id = id;
        }

        boolean canRun() {
            return !dead && !paused;
        }

        boolean isRegistered() {
            NodeRecord node = live.get(id);
            return node != null && (node.process() != number || actsAs == node.incarnation());
        }

        boolean isLive() {
            NodeRecord node = live.get(id);
            return actsAs > 0 && node != null && node.process() == number && node.incarnation() == actsAs;
        }

        /** Ends its session; the process does not learn of it yet. */
        void expire() {
            NodeRecord node = live.get(id);
            if (node != null && node.process() == number) {
                live.remove(id);
                acks.remove(id);
            }
        }

        void act() {
            if (dead && chance(0.2)) {
                expire();
            }
            if (!canRun()) {
                return;
            }
            switch (random.nextInt(4)) {
                case 0 -> register();
                case 1 -> join();
                case 2 -> receive();
                default -> acknowledge();
            }
        }

        /**
         * The process learns that its registration is gone. First it cuts its links and gives up its rights, and only then it registers
         * again. So nothing done under a registration uses links or rights from before it.
         */
        private void register() {
            NodeRecord node = live.get(id);
            if (node == null) {
                if (defect == Defect.KEEP_LINKS_AFTER_A_NEW_REGISTRATION) {
                    rightsOf = rightsOf == 0 ? actsAs : rightsOf;
                } else {
                    cutAll();
                }
                actsAs = 0;
                acknowledged = 0;
                registered = ++incarnations[id];
                live.put(id, new NodeRecord("n" + id, id, registered, "host", 1, Map.of(), number));
            } else if (node.process() != number && registered > 0) {
                dead = true; // its registration is refused, because another process has the name now; so it stops
            }
        }

        private void cutAll() {
            links.clear();
            for (Proc other : processes) {
                other.links.removeIf(link -> link.from() == this);
            }
        }

        /**
         * The process learns that it is registered and reads the epoch. It makes and accepts connections only when no removed process has
         * its memory mapped, because it may not have been a member when that process was fenced.
         */
        private void join() {
            if (actsAs != 0 || registered == 0) {
                return;
            }
            if (defect != Defect.CONNECT_BEFORE_THE_EPOCH_IS_READ) {
                receive();
                if (!isAllCut()) {
                    return;
                }
            }
            actsAs = registered;
        }

        /** The incarnation whose rights a defective process uses. */
        private long rightsOf;

        private long rights() {
            return rightsOf > 0 ? rightsOf : actsAs;
        }

        /** The directory's notification arrives. */
        void receive() {
            if (canRun()) {
                epochSeen = ZooKeeperEpochs.isNewer(epoch, epochSeen) ? epoch : epochSeen;
                liveSeen = Map.copyOf(live);
                if (defect != Defect.ACKNOWLEDGE_BEFORE_THE_CUT || chance(0.3)) {
                    cut();
                }
            }
        }

        private void cut() {
            links.removeIf(link -> isRefused(link.from(), link.incarnation()));
            for (Proc other : processes) {
                if (isRefused(other, other.actsAs)) {
                    other.links.removeIf(link -> link.from() == this);
                }
            }
        }

        private boolean isRefused(Proc other, long incarnation) {
            return incarnation <= epochSeen.removedUpTo(other.id);
        }

        private void acknowledge() {
            if (actsAs == 0 || !isAllCut()) {
                return;
            }
            long number = epochSeen.number();
            long as = actsAs;
            acknowledged = Math.max(acknowledged, number);
            messages.add(() -> {
                NodeRecord node = live.get(id);
                if (node != null && node.incarnation() == as && !(chance(0.1) && !calm)) {
                    acks.merge(
                            id,
                            new Ack(as, number),
                            (before, now) -> before.incarnation() == as && before.epoch() > number ? before : now);
                }
            });
        }

        private boolean isAllCut() {
            if (defect == Defect.ACKNOWLEDGE_BEFORE_THE_CUT) {
                return true;
            }
            if (links.stream().anyMatch(link -> isRefused(link.from(), link.incarnation()))
                    || processes.stream()
                            .anyMatch(other -> isRefused(other, other.actsAs) && other.isLinkedFrom(this))) {
                return false;
            }
            return defect == Defect.TRUST_THE_CUT_OF_A_MAPPING
                    || mappedBy.stream().allMatch(this::isMappingHarmless);
        }

        /** Whether the process that has this memory mapped has ended, is not removed, or has a later registration. */
        private boolean isMappingHarmless(Proc other) {
            NodeRecord node = liveSeen.get(other.id);
            return other.dead
                    || epochSeen.removedUpTo(other.id) == 0
                    || (node != null
                            && node.process() == other.number
                            && node.incarnation() > epochSeen.removedUpTo(other.id));
        }

        /** Connects to another node. Each checks that the other was not removed. */
        void connect(Proc other) {
            if (!canRun() || !other.canRun() || other.id == id || actsAs == 0 || other.actsAs == 0) {
                return;
            }
            if (isRefused(other, other.actsAs)) {
                return;
            }
            NodeRecord node = other.liveSeen.get(id);
            long incarnation = node != null && node.process() == number ? node.incarnation() : 0;
            if (other.epochSeen.removedUpTo(id) > 0 && incarnation <= other.epochSeen.removedUpTo(id)) {
                return;
            }
            other.links.add(new Link(this, incarnation));
            if (isOnHostOf(other)) {
                other.mappedBy.add(this);
            }
        }

        private boolean isOnHostOf(Proc other) {
            return (id & 1) == (other.id & 1);
        }

        private boolean isLinkedFrom(Proc other) {
            return links.stream().anyMatch(link -> link.from() == other);
        }

        /** Whether a node of the cluster still reaches the memory of this process, which may have been removed. */
        private boolean isUsedByALiveNode(Proc other) {
            return processes.stream().anyMatch(user -> user != this && user.isLive() && other.isLinkedFrom(user));
        }

        /** Reads or writes memory of a node that it can reach. */
        void touch() {
            if (!canRun() || actsAs == 0) {
                return;
            }
            for (Proc other : processes) {
                if (!other.dead && (other.isLinkedFrom(this) || other.mappedBy.contains(this))) {
                    touches++;
                    if (epoch.isFenced(id, rights()) && (other.isLive() || isUsedByALiveNode(other))) {
                        fail("n%d as incarnation %d, which is fenced, touched n%d as %d in %s"
                                .formatted(id, rights(), other.id, other.actsAs, epoch));
                    }
                }
            }
        }
    }
}
