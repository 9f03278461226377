package dev.lite.simulate.tier;

import dev.lite.cluster.SimulatedDirectory;
import dev.lite.simulate.engine.Simulation;
import java.util.random.RandomGenerator;

/** What goes wrong in a history, drawn from a stream of its own: one fault after the other, at random times. */
public final class Faults {
    private static final int KINDS = 9;
    private static final long MS = 1_000_000;
    private static final long SECOND_NS = 1_000 * MS;

    private final Cluster cluster;
    private final Simulation simulation;
    private final RandomGenerator random;
    private final int[] weights = new int[KINDS];
    private boolean over;
    private int injected;

    /** None yet. */
    public Faults(Cluster cluster) {
        this.cluster = cluster;
        this.simulation = cluster.simulation();
        this.random = simulation.streams().stream("faults");
        for (int i = 0; i < KINDS; i++) {
            weights[i] = random.nextInt(3) == 0 ? 0 : 1 << random.nextInt(4);
        }
        weights[random.nextInt(KINDS)] += 4;
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
            case 0 -> pause();
            case 1 -> anyMember().kill(ms(600));
            case 2 -> drop(false);
            case 3 -> drop(true);
            case 4 -> loseSession();
            case 5 -> loseDirectory();
            case 6 -> manager();
            case 7 -> lateNews();
            default -> skew();
        }
    }

    private int kind() {
        int sum = 0;
        for (int weight : weights) {
            sum += weight;
        }
        int at = random.nextInt(sum);
        int kind = 0;
        while (at >= weights[kind]) {
            at -= weights[kind];
            kind++;
        }
        return kind;
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

    private void drop(boolean half) {
        Member from = anyMember();
        Member to = anyMember();
        if (from == to
                || !cluster.network().has(from.name())
                || !cluster.network().has(to.name())) {
            return;
        }
        simulation.note(
                "connections between %s and %s break%s".formatted(from.name(), to.name(), half ? " on one side" : ""));
        if (half) {
            cluster.network().halfOpen(from.name(), to.name(), random.nextBoolean() ? ms(5) : ms(500));
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
