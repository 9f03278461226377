package dev.lite.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.simulate.engine.Detail;
import dev.lite.simulate.engine.SimulatedProcess;
import dev.lite.simulate.engine.Simulation;
import dev.lite.simulate.engine.Streams;
import dev.lite.simulate.hook.Hook;
import dev.lite.simulate.toy.Toy;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SchedulerTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final int STEPS_MAX = 1_000_000;

    private record Run(long hash, long nowNs, int unguarded, List<String> seen) {}

    private static Run run(long seed) {
        Simulation simulation = new Simulation(new Streams(seed), Detail.HASH);
        Toy toy = new Toy();
        Hook.install(simulation, seed);
        try {
            for (int number = 0; number < Toy.WORKERS; number++) {
                int me = number;
                simulation.start(new SimulatedProcess("p" + me), "worker", () -> toy.work(me));
            }
            Simulation.End end =
                    simulation.run(() -> toy.done() == Toy.WORKERS, Simulation.START_NS + 10 * SECOND_NS, STEPS_MAX);
            assertThat(end).as("seed %d: %s", seed, simulation.stacks()).isEqualTo(Simulation.End.DONE);
        } finally {
            Hook.uninstall();
        }
        return new Run(simulation.hash(), simulation.nowNs(), toy.unguarded(), toy.seen());
    }

    @Test
    void aSeedRepeatsItsTrace() {
        for (long seed = 1; seed <= 10; seed++) {
            Run first = run(seed);
            for (int i = 0; i < 3; i++) {
                assertThat(run(seed)).as("seed %d", seed).isEqualTo(first);
            }
        }
    }

    @Test
    void seedsDifferAndSomeLoseUpdates() {
        Set<Long> hashes = new HashSet<>();
        Set<Integer> unguarded = new HashSet<>();
        for (long seed = 1; seed <= 40; seed++) {
            Run run = run(seed);
            hashes.add(run.hash());
            unguarded.add(run.unguarded());
        }
        assertThat(hashes).hasSize(40);
        assertThat(unguarded).hasSizeGreaterThan(3);
    }

    @Test
    void threadsOfAKilledProcessNeverRunAgainAndPausedOnesLater() {
        Simulation simulation = new Simulation(new Streams(7), Detail.HASH);
        SimulatedProcess killed = new SimulatedProcess("killed");
        SimulatedProcess paused = new SimulatedProcess("paused");
        Toy toyOfKilled = new Toy();
        Toy toyOfPaused = new Toy();
        Hook.install(simulation, 7);
        try {
            for (int number = 0; number < Toy.WORKERS; number++) {
                int me = number;
                simulation.start(killed, "worker", () -> toyOfKilled.work(me));
                simulation.start(paused, "worker", () -> toyOfPaused.work(me));
            }
            simulation.after(1_000_000, killed::kill);
            simulation.after(1_000_000, () -> simulation.pause(paused, SECOND_NS));
            Simulation.End end = simulation.run(
                    () -> toyOfPaused.done() == Toy.WORKERS, Simulation.START_NS + 10 * SECOND_NS, STEPS_MAX);
            assertThat(end).isEqualTo(Simulation.End.DONE);
            assertThat(simulation.nowNs()).isGreaterThan(Simulation.START_NS + SECOND_NS);
            assertThat(toyOfKilled.done()).isZero();
        } finally {
            Hook.uninstall();
        }
    }
}
