package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.simulate.engine.Simulation;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * The way from a process to the directory and back: requests and answers take time, are lost, and requests arrive after their
 * caller gave up. But as in ZooKeeper, no later request of the same client overtakes them. A request
 * waits while its client is not connected, and is tried again some time after, as Curator's. Used under a simulation.
 */
final class SimulatedNet {
    private static final long WAY_NS_MIN = 20_000;
    private static final long WAY_NS_MAX = 300_000;
    private static final long GIVE_UP_NS_MAX = 400_000_000;
    private static final long LATE_NS_MAX = 50_000_000;
    private static final long AGAIN_NS_MAX = 20_000_000;

    /** The connection of one client. */
    static final class Line {
        private long lateUntilNs;
    }

    private final Simulation simulation;
    private final RandomGenerator random;
    private double lossRate;
    private long newsNsMax = 1_000_000;

    SimulatedNet(Simulation simulation) {
        this.simulation = simulation;
        this.random = simulation.streams().stream("directory");
    }

    /** The probability that a request or an answer is lost. */
    void setLossRate(double rate) {
        lossRate = rate;
    }

    /** The longest that most news travels; some takes a hundred times as long. */
    void setNewsNsMax(long ns) {
        newsNsMax = ns;
    }

    Simulation simulation() {
        return simulation;
    }

    RandomGenerator random() {
        return random;
    }

    /** How long news travels. */
    long newsNs() {
        long ns = WAY_NS_MIN + random.nextLong(newsNsMax);
        return random.nextInt(12) == 0 ? 100 * ns : ns;
    }

    /**
     * Carries out a request at the directory.
     *
     * @param line of the caller
     * @param up whether the caller's session is connected
     */
    <T> T call(Line line, String what, Duration deadline, BooleanSupplier up, Supplier<T> request) {
        long endNs = simulation.nowNs() + Math.min(deadline.toNanos(), GIVE_UP_NS_MAX);
        while (!up.getAsBoolean() && simulation.nowNs() < endNs) {
            sleep(1 + random.nextLong(AGAIN_NS_MAX), what);
        }
        require(up, what);
        sleep(way(), what);
        if (line.lateUntilNs >= endNs) {
            throw giveUp(endNs, what);
        }
        if (line.lateUntilNs >= simulation.nowNs()) {
            sleep(line.lateUntilNs + 1 - simulation.nowNs(), what);
        }
        require(up, what);
        double fate = random.nextDouble();
        if (fate < lossRate) {
            simulation.note("directory loses the request: " + what);
            throw giveUp(endNs, what);
        }
        if (fate < 1.5 * lossRate) {
            simulation.note("directory will get the request late: " + what);
            line.lateUntilNs = Math.max(line.lateUntilNs, simulation.nowNs() + random.nextLong(LATE_NS_MAX));
            simulation.at(line.lateUntilNs, () -> lateRequest(request));
            throw giveUp(endNs, what);
        }
        T answer = request.get();
        if (fate < 2.5 * lossRate) {
            simulation.note("directory loses the answer: " + what);
            throw giveUp(endNs, what);
        }
        sleep(way(), what);
        require(up, what);
        return answer;
    }

    private <T> void lateRequest(Supplier<T> request) {
        try {
            Object unused = request.get();
        } catch (RuntimeException e) {
            simulation.note("directory refuses the late request: " + e.getMessage());
        }
    }

    private ClusterUnavailableException giveUp(long endNs, String what) {
        sleep(random.nextLong(Math.max(1, endNs - simulation.nowNs())), what);
        return new ClusterUnavailableException("the directory did not answer: " + what);
    }

    private static void require(BooleanSupplier up, String what) {
        if (!up.getAsBoolean()) {
            throw new ClusterUnavailableException("the directory cannot be reached: " + what);
        }
    }

    private long way() {
        return random.nextLong(WAY_NS_MIN, WAY_NS_MAX);
    }

    void sleep(long ns, String what) {
        long endNs = simulation.nowNs() + ns;
        while (simulation.nowNs() < endNs) {
            if (Thread.currentThread().isInterrupted()) {
                throw new ClusterUnavailableException("interrupted: " + what);
            }
            LockSupport.parkNanos(endNs - simulation.nowNs());
        }
    }
}
