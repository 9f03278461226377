package dev.lite.simulate.work;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.simulate.engine.Simulation;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Member;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** The applications of a history. What they do comes from a stream of its own. */
public final class Workload {
    /** The name of all applications. */
    static final String PRINCIPAL = "app";

    private static final long RETRY_NS = 20_000_000;
    private static final long SETTLE_NS = 60_000_000_000L;

    private final Cluster cluster;
    private final Simulation simulation;
    private final List<Part> parts = new ArrayList<>();
    private final int[] weights;
    private final List<App> running = new ArrayList<>();
    private boolean begun;
    private boolean ends;
    private int apps;
    private int steps;
    private int failures;

    /** Draws what its applications prefer to do. */
    public Workload(Cluster cluster) {
        this.cluster = cluster;
        this.simulation = cluster.simulation();
        parts.add(new Words(cluster));
        parts.add(new Blocks(cluster));
        parts.add(new Shares(cluster));
        parts.add(new Locks(cluster));
        parts.add(new Calls(cluster));
        if (!Without.is("services")) {
            parts.add(new Services(cluster));
        }
        if (!Without.is("segments")) {
            parts.add(new Segments(cluster));
        }
        if (!Without.is("orders")) {
            parts.add(new OperatorOrders(cluster));
        }
        RandomGenerator random = simulation.streams().stream("workload");
        weights = new int[parts.size()];
        Mix mix = cluster.shape().mix();
        for (int i = 0; i < weights.length; i++) {
            weights[i] =
                    mix != Mix.ANY ? parts.get(i).weight(mix) : random.nextInt(4) == 0 ? 0 : 1 << random.nextInt(4);
        }
        if (mix == Mix.ANY) {
            weights[random.nextInt(weights.length)] += 4;
        }
    }

    /** How many steps were made, and how many of them failed with an exception of the tier. */
    public String describe() {
        return "%d steps, %d of them failed".formatted(steps, failures);
    }

    /** A process of a node runs; called on its thread. */
    public void started(Member member) {
        parts.forEach(part -> part.started(member.node()));
        if (begun && !ends) {
            startApps(member);
        }
    }

    /** Makes what the applications share, then starts them. Blocks. */
    public void begin() {
        App first = app(cluster.members().getFirst());
        parts.forEach(part -> retrying("prepare " + part.getClass().getSimpleName(), () -> part.prepare(first)));
        begun = true;
        cluster.members().forEach(this::startApps);
    }

    private App app(Member member) {
        Lite lite = member.node().attach(PRINCIPAL);
        return new App(cluster, member, lite, simulation.streams().stream("app" + ++apps));
    }

    private void startApps(Member member) {
        for (int i = 0; i < cluster.shape().threadsPerNode(); i++) {
            App app = app(member);
            running.add(app);
            simulation.start(member.process(), "app" + apps, apps % 2 == 0, () -> run(app));
        }
    }

    private void run(App app) {
        for (int step = 0; step < cluster.shape().stepsPerThread() && !ends; step++) {
            Part part = choose(app.random);
            steps++;
            try {
                part.step(app);
            } catch (LiteException e) {
                failures++;
                app.note(part.getClass().getSimpleName() + ": " + e);
            } catch (RuntimeException | Error e) {
                java.io.StringWriter text = new java.io.StringWriter();
                e.printStackTrace(new java.io.PrintWriter(text));
                cluster.rule().broken("a step of " + part.getClass().getSimpleName() + " failed with " + text);
            }
            long thinkNs = cluster.shape().thinkNsMax();
            if (thinkNs > 0 && app.random.nextInt(3) > 0) {
                Pause.ns(simulation, app.random.nextLong(thinkNs));
            }
        }
        running.remove(app);
    }

    private Part choose(RandomGenerator random) {
        int sum = 0;
        for (int weight : weights) {
            sum += weight;
        }
        int at = random.nextInt(sum);
        for (int i = 0; i < weights.length; i++) {
            at -= weights[i];
            if (at < 0) {
                return parts.get(i);
            }
        }
        throw new IllegalStateException("no weight");
    }

    /** What the names of principals begin with whose sessions have all ended after the workload. */
    public String briefPrincipals() {
        return Services.PRINCIPALS;
    }

    /** Lets every application end its step. */
    public void end() {
        ends = true;
    }

    /** Whether none runs any more; those of killed processes do not count. */
    public boolean isOver() {
        return running.stream().allMatch(app -> app.process.isDead());
    }

    /** The nodes whose applications still run. */
    public String stillRunning() {
        return running.stream()
                .filter(app -> !app.process.isDead())
                .map(app -> app.process.name())
                .toList()
                .toString();
    }

    /** Checks what must hold without faults, then frees everything. Blocks. */
    public void settle() {
        List<Member> members = cluster.members();
        App any = app(members.get(simulation.streams().stream("settle").nextInt(members.size())));
        parts.forEach(part -> retrying("settle " + part.getClass().getSimpleName(), () -> part.settle(any)));
        parts.forEach(part -> retrying("clean up " + part.getClass().getSimpleName(), () -> part.cleanUp(any)));
        any.lite.close();
    }

    private void retrying(String what, Runnable action) {
        String[] last = {""};
        boolean done = Pause.until(simulation, SETTLE_NS, () -> {
            try {
                action.run();
                return true;
            } catch (LiteException e) {
                last[0] = e.toString();
                Pause.ns(simulation, RETRY_NS);
                return false;
            }
        });
        if (!done) {
            cluster.rule().broken("cannot %s within %d s: %s".formatted(what, SETTLE_NS / 1_000_000_000, last[0]));
        }
    }
}
