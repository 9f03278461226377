package dev.lite.simulate;

import dev.lite.simulate.engine.Detail;
import dev.lite.simulate.engine.SimulatedProcess;
import dev.lite.simulate.engine.Simulation;
import dev.lite.simulate.engine.Streams;
import dev.lite.simulate.hook.Hook;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Faults;
import dev.lite.simulate.tier.Limits;
import dev.lite.simulate.tier.Member;
import dev.lite.simulate.tier.Pause;
import dev.lite.simulate.tier.Rule;
import dev.lite.simulate.tier.Shape;
import dev.lite.simulate.tier.Statics;
import dev.lite.simulate.work.Workload;
import dev.lite.tier.node.NodeFigures;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One run of the tier: everything in it comes from the seed. */
final class History {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final long START_NS = 20 * SECOND_NS;
    private static final long STEP_ENDS_NS = 30 * SECOND_NS;
    private static final long WHOLE_NS = 60 * SECOND_NS;
    private static final long FREED_NS = 30 * SECOND_NS;
    private static final long CLOSED_NS = 30 * SECOND_NS;
    private static final long ALL_NS = 600 * SECOND_NS;
    private static final long STEPS_MAX = 1_500_000;
    /** After so many, no application begins another step. Thousands of calls that nobody answers take so many. */
    private static final long WORK_STEPS_MAX = 1_000_000;

    private final Simulation simulation;
    private final Shape shape;
    private final Rule rule = new Rule();
    private final Cluster cluster;
    private final Faults faults;
    private final Workload workload;
    private String phase = "start";
    private boolean done;

    /**
     * What came of a seed.
     *
     * @param broken the rule that does not hold, or null
     * @param hash of everything that happened
     * @param lines the history, if it was kept
     */
    record Outcome(
            long seed,
            @Nullable String broken,
            long hash,
            long steps,
            long virtualNs,
            String summary,
            List<String> lines) {}

    private History(long seed, Detail detail, Path root) {
        Streams streams = new Streams(seed);
        this.simulation = new Simulation(streams, detail);
        this.shape = Shape.draw(streams.stream("shape"));
        this.cluster = new Cluster(simulation, shape, root, rule);
        this.faults = new Faults(cluster);
        this.workload = new Workload(cluster);
    }

    /** The simulation that runs now, for the watchdog. */
    static volatile @Nullable Simulation running;

    /** @param root a directory on a memory file system; its content is deleted */
    static Outcome of(long seed, Detail detail, Path root) {
        Scratch.delete(root);
        Statics.reset();
        History history = new History(seed, detail, root);
        Hook.install(history.simulation, history.simulation.streams().seedOf("salt"));
        running = history.simulation;
        Log.into(history.simulation);
        try {
            return history.run(seed);
        } finally {
            history.simulation.end();
            Log.into(null);
            running = null;
            Hook.uninstall();
            Scratch.delete(root);
        }
    }

    private Outcome run(long seed) {
        simulation.note(shape.toString());
        simulation.start(new SimulatedProcess("driver"), "driver", this::drive);
        Simulation.End end =
                simulation.run(() -> done || rule.broken() != null, Simulation.START_NS + ALL_NS, STEPS_MAX);
        if (end != Simulation.End.DONE) {
            rule.broken("%s while it should %s: %s%n  %s"
                    .formatted(end, phase, cluster.describe(), String.join("\n  ", simulation.stacks())));
        }
        if (rule.broken() != null) {
            cluster.abandon();
        }
        return new Outcome(
                seed,
                rule.broken(),
                simulation.hash() * 31 + cluster.network().traceHash(),
                simulation.steps(),
                simulation.nowNs() - Simulation.START_NS,
                "%s, %d faults, %s".formatted(shape, faults.injected(), workload.describe()),
                simulation.lines());
    }

    private void phase(String next) {
        phase = next;
        simulation.note("== " + next);
    }

    private boolean await(String what, long ns, java.util.function.BooleanSupplier condition) {
        phase(what);
        if (!Pause.until(simulation, ns, condition)) {
            rule.broken("it does not %s within %d s: %s%n  %s"
                    .formatted(what, ns / SECOND_NS, cluster.describe(), String.join("\n  ", simulation.stacks())));
            return false;
        }
        return true;
    }

    private void drive() {
        cluster.whenStarted(workload::started);
        cluster.start();
        if (!await("start", START_NS, cluster::isWhole)) {
            return;
        }
        phase("prepare");
        workload.begin();
        faults.begin();
        phase("work");
        long endNs = simulation.nowNs() + shape.runNs();
        while (simulation.nowNs() < endNs && simulation.steps() < WORK_STEPS_MAX && !workload.isOver()) {
            Pause.ns(simulation, 10_000_000);
            faults.heal();
        }
        faults.end();
        workload.end();
        if (!await("end every step of every application", STEP_ENDS_NS, () -> {
                    faults.heal();
                    return workload.isOver();
                })
                || !await("become whole", WHOLE_NS, () -> {
                    faults.heal();
                    return cluster.isWhole();
                })) {
            return;
        }
        phase("settle");
        workload.settle();
        // A node that replaces a connection removes the former one's rings a little later, when the fabric reports its
        // end.
        if (!Pause.until(simulation, FREED_NS, () -> left() == null)) {
            rule.broken(String.valueOf(left()));
            return;
        }
        if (await("free everything", FREED_NS, this::isEmpty)) {
            close();
        }
    }

    /** What a node should not have any more, in words; null if there is nothing. */
    private @Nullable String left() {
        return cluster.members().stream()
                .flatMap(member -> Stream.of(
                        Optional.ofNullable(Limits.deadRings(member)),
                        Optional.ofNullable(Limits.leftOfOperations(member)),
                        Optional.ofNullable(Limits.leftOfServers(member, workload.briefPrincipals()))))
                .flatMap(Optional::stream)
                .findFirst()
                .orElse(null);
    }

    private boolean isEmpty() {
        for (Member member : cluster.members()) {
            NodeFigures.Usage usage = member.node().figures().usage();
            if (usage.reclaiming() > 0 || member.node().figures().lmrBytes() > cluster.bytesKept(member)) {
                return false;
            }
        }
        return true;
    }

    private void close() {
        AtomicInteger closed = new AtomicInteger();
        for (Member member : cluster.members()) {
            simulation.start(member.process(), "stop", () -> {
                member.stop();
                closed.incrementAndGet();
            });
        }
        if (await("close", CLOSED_NS, () -> closed.get() == cluster.members().size())) {
            done = true;
        }
    }
}
