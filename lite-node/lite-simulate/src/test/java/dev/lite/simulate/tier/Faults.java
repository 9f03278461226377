package dev.lite.simulate.tier;

import dev.lite.cluster.SimulatedDirectory;
import dev.lite.os.RawMemory;
import dev.lite.simulate.engine.Simulation;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.peer.ImmediateKind;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** What goes wrong in a history, drawn from a stream of its own: one fault after the other, at random times. */
public final class Faults {
    private enum Kind {
        PAUSE,
        KILL,
        DROP,
        HALF_OPEN,
        LOSE_SESSION,
        LOSE_DIRECTORY,
        MANAGER,
        LATE_NEWS,
        SKEW,
        RETURN,
        REMOVE
    }

    private static final List<Kind> KINDS = List.of(Kind.values());
    private static final int CONTROL_REQUEST = ImmediateKind.CONTROL_REQUEST.with(0);
    private static final int CONTROL_HEADER_BYTES = 16; // as in ControlChannel: its number of the kind follows
    private static final byte MEMSET = numberOf(ControlKind.MEMSET);
    private static final byte COPY = numberOf(ControlKind.COPY);
    private static final byte BIND = numberOf(ControlKind.BIND_FUNCTION);
    private static final long CUT_APART_NS = 15_000_000;
    private static final long CUT_NS_MAX = 40_000;

    private static final long MS = 1_000_000;
    private static final long SECOND_NS = 1_000 * MS;

    private final Cluster cluster;
    private final Simulation simulation;
    private final RandomGenerator random;
    private final Map<Kind, Integer> weights;
    private boolean over;
    private int injected;
    private long nextCutNs;

    /** None yet. */
    public Faults(Cluster cluster) {
        this.cluster = cluster;
        this.simulation = cluster.simulation();
        this.random = simulation.streams().stream("faults");
        Mix mix = cluster.shape().mix();
        this.weights = mix == Mix.ANY ? any() : directed(mix);
        if (mix == Mix.CUTS) {
            cluster.whenSent(this::sent);
        }
    }

    private static byte numberOf(ControlKind kind) {
        return (byte) Internals.get(kind, "number");
    }

    private Map<Kind, Integer> any() {
        Map<Kind, Integer> drawn = new EnumMap<>(Kind.class);
        for (Kind kind : KINDS) {
            drawn.put(kind, random.nextInt(3) == 0 ? 0 : 1 << random.nextInt(4));
        }
        drawn.merge(KINDS.get(random.nextInt(KINDS.size())), 4, Integer::sum);
        return drawn;
    }

    private static Map<Kind, Integer> directed(Mix mix) {
        return switch (mix) {
            case RETURNS -> Map.of(Kind.RETURN, 8, Kind.KILL, 1, Kind.LATE_NEWS, 1);
            case CUTS -> Map.of(Kind.HALF_OPEN, 4, Kind.DROP, 1);
            case SESSIONS ->
                Map.of(Kind.LOSE_SESSION, 8, Kind.LOSE_DIRECTORY, 1, Kind.LATE_NEWS, 1, Kind.RETURN, 1, Kind.PAUSE, 1);
            case HOLDERS -> Map.of(Kind.KILL, 4, Kind.PAUSE, 2, Kind.LOSE_SESSION, 2, Kind.RETURN, 1);
            case REMOVALS -> Map.of(Kind.REMOVE, 8, Kind.LATE_NEWS, 1);
            default -> Map.of(Kind.DROP, 1, Kind.PAUSE, 1);
        };
    }

    /** From now on faults happen. */
    public void begin() {
        if (cluster.shape().faults() > 0) {
            cluster.store().setLossRate(cluster.shape().lossRate());
            next();
        }
    }

    private void next() {
        long gapNs = (long) (-Math.log(1 - random.nextDouble())
                * SECOND_NS
                / cluster.shape().faults());
        simulation.after(gapNs, () -> {
            if (!over) {
                inject();
                next();
            }
        });
    }

    /** How many there were. */
    public int injected() {
        return injected;
    }

    private Member anyMember() {
        return cluster.members().get(random.nextInt(cluster.members().size()));
    }

    private long ms(int max) {
        return (1 + random.nextInt(max)) * MS;
    }

    private void inject() {
        injected++;
        switch (kind()) {
            case PAUSE -> pause();
            case KILL -> anyMember().kill(ms(600));
            case DROP -> drop(anyMember(), anyMember(), false);
            case HALF_OPEN -> drop(anyMember(), anyMember(), true);
            case LOSE_SESSION -> loseSession();
            case LOSE_DIRECTORY -> loseDirectory();
            case MANAGER -> manager();
            case LATE_NEWS -> lateNews();
            case SKEW -> skew();
            case RETURN -> returnUnheard();
            case REMOVE -> remove();
        }
    }

    private Kind kind() {
        int at = random.nextInt(
                weights.values().stream().mapToInt(Integer::intValue).sum());
        for (Kind kind : KINDS) {
            at -= weights.getOrDefault(kind, 0);
            if (at < 0) {
                return kind;
            }
        }
        throw new IllegalStateException("no weight");
    }

    /** One process hears late of one kind of change. */
    private void lateNews() {
        SimulatedDirectory directory = anyMember().directory();
        if (directory != null) {
            if (random.nextInt(3) > 0) {
                directory.delayNodes(ms(800));
            } else {
                directory.delayEpochs(ms(800));
            }
        }
    }

    private void pause() {
        Member member = anyMember();
        long ns = random.nextInt(3) == 0 ? ms(1_500) : ms(60);
        simulation.note(member.process() + " pauses for " + ns + " ns");
        simulation.pause(member.process(), ns);
        if (member.state() == Member.State.UP && cluster.network().has(member.name())) {
            cluster.network().pause(member.name());
            Object process = member.process();
            simulation.after(ns, () -> {
                if (member.process() == process && cluster.network().has(member.name())) {
                    cluster.network().resume(member.name());
                }
            });
        }
        SimulatedDirectory directory = member.directory();
        if (ns > SimulatedDirectory.SESSION_TIMEOUT_NS && directory != null) {
            simulation.after(SimulatedDirectory.SESSION_TIMEOUT_NS, directory::expire);
            simulation.after(SimulatedDirectory.SESSION_TIMEOUT_NS, directory::disconnect);
            simulation.after(ns + ms(50), directory::reconnect);
        }
    }

    /** Now and then a connection breaks just while a control request, its effect or its answer is on its way. */
    private void sent(String from, String to, int immediate, long message) {
        long nowNs = simulation.nowNs();
        if (over || (immediate & ~ImmediateKind.PAYLOAD_MAX) != CONTROL_REQUEST || nowNs < nextCutNs) {
            return;
        }
        byte kind = RawMemory.getByte(message + CONTROL_HEADER_BYTES);
        boolean waitsForEver = kind == MEMSET || kind == COPY;
        if (random.nextInt(waitsForEver || kind == BIND ? 2 : 12) == 0) {
            nextCutNs = nowNs + CUT_APART_NS + random.nextLong(4 * CUT_APART_NS);
            injected++;
            Member sender = member(from);
            Member receiver = member(to);
            // The receiver of the request may hear of it first, and connect again before the sender hears of it.
            boolean half = waitsForEver || random.nextBoolean();
            simulation.after(random.nextLong(CUT_NS_MAX), () -> drop(receiver, sender, half));
        }
    }

    /** The directory removes a node that does not know it, works on and reaches its peers. */
    private void remove() {
        SimulatedDirectory directory = anyMember().directory();
        if (directory != null && directory.isConnected()) {
            directory.disconnect();
            directory.expire();
            simulation.after(300 * MS + ms(1_200), directory::reconnect);
        }
    }

    private Member member(String name) {
        return cluster.members().stream()
                .filter(member -> member.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** A node's session ends, and it returns at once as another incarnation; some peers hear late of the new one. */
    private void returnUnheard() {
        Member member = anyMember();
        SimulatedDirectory directory = member.directory();
        if (directory == null) {
            return;
        }
        for (Member other : cluster.members()) {
            SimulatedDirectory ofOther = other.directory();
            if (other != member && ofOther != null && random.nextBoolean()) {
                ofOther.delayNodes(100 * MS + ms(400));
            }
        }
        directory.disconnect();
        directory.expire();
        simulation.after(ms(5), directory::reconnect);
    }

    private void drop(Member from, Member to, boolean half) {
        if (from == to
                || !cluster.network().has(from.name())
                || !cluster.network().has(to.name())) {
            return;
        }
        simulation.note(
                "connections between %s and %s break%s".formatted(from.name(), to.name(), half ? " on one side" : ""));
        if (half) {
            cluster.network().halfOpen(from.name(), to.name(), random.nextBoolean() ? ms(5) : ms(700));
        } else {
            cluster.network().drop(from.name(), to.name());
        }
    }

    /** The session ends while the process runs; it connects again before or after it hears of the end. */
    private void loseSession() {
        SimulatedDirectory directory = anyMember().directory();
        if (directory != null) {
            directory.disconnect();
            if (random.nextBoolean()) {
                directory.expire();
            } else {
                simulation.after(ms(20), directory::expire);
            }
            simulation.after(ms(random.nextInt(4) == 0 ? 2_500 : random.nextBoolean() ? 5 : 400), directory::reconnect);
        }
    }

    private void loseDirectory() {
        SimulatedDirectory directory = anyMember().directory();
        if (directory != null) {
            directory.disconnect();
            simulation.after(ms(250), directory::reconnect);
        }
    }

    private void manager() {
        if (random.nextBoolean()) {
            cluster.store().elect();
        } else {
            Cluster.Manager manager =
                    cluster.managers().get(random.nextInt(cluster.managers().size()));
            if (random.nextBoolean()) {
                manager.kill(ms(300));
            } else {
                simulation.pause(manager.process(), ms(800));
            }
        }
    }

    private void skew() {
        Member member = anyMember();
        member.process().skew(0, 0.98 + 0.04 * random.nextDouble());
        simulation.note("the clock of " + member.process() + " gets another rate");
    }

    /** No more faults; killed nodes are started again. Call {@link #heal} until the cluster is whole. */
    public void end() {
        over = true;
        cluster.store().setLossRate(0);
        cluster.store().setNewsNsMax(MS);
    }

    /** Starts killed nodes, and connects everybody with the directory. */
    public void heal() {
        for (Member member : cluster.members()) {
            if (member.state() == Member.State.DOWN) {
                member.start();
            }
            SimulatedDirectory directory = member.directory();
            if (over && directory != null) {
                directory.reconnect();
            }
        }
    }
}
