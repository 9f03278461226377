package dev.lite.simulate;

import dev.lite.os.ThreadPriority;
import dev.lite.simulate.History.Outcome;
import dev.lite.simulate.engine.Detail;
import dev.lite.simulate.engine.Simulation;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs histories, one seed after the other, until the time is over or a rule is broken; ends with status 1 then. See
 * docs/simulation.md.
 */
public final class SimulateMain {
    private static final long WARM_UP_SEED = 1;
    private static final int WARM_UPS = Integer.getInteger("lite.simulate.warm-ups", 2);
    private static final int STUCK_SECONDS = 60;
    private static final double MINUTES = 3;
    private static final double MINUTES_MAX = 1e6;

    private SimulateMain() {}

    /** Reads the properties {@code lite.simulate.*}; docs/simulation.md has a table of them. */
    public static void main(String[] args) {
        Path root = Scratch.ofThisProcess(Path.of(System.getProperty("lite.simulate.root", "/dev/shm")));
        String seed = given("seed");
        long first = seed.isEmpty() ? System.nanoTime() & 0xFFFF_FFFFL : Long.parseLong(seed);
        // A seed alone is that history and no other, however long it takes.
        boolean one = !seed.isEmpty()
                && given("minutes").isEmpty()
                && given("histories").isEmpty();
        double minutes =
                one ? MINUTES_MAX : given("minutes").isEmpty() ? MINUTES : Double.parseDouble(given("minutes"));
        long histories = one ? 1 : given("histories").isEmpty() ? Long.MAX_VALUE : Long.parseLong(given("histories"));
        boolean goesOn = Boolean.getBoolean("lite.simulate.continue");
        watch();
        for (int i = 0; i < WARM_UPS; i++) {
            Outcome unused = History.of(WARM_UP_SEED + i, Detail.HASH, root);
        }
        if (!given("nice").isEmpty()) {
            ThreadPriority.lower(Integer.parseInt(given("nice"))); // everything simulated runs in this thread
        }
        System.out.println("seed " + first);
        long endNs = System.nanoTime() + (long) (minutes * TimeUnit.MINUTES.toNanos(1));
        long startNs = System.nanoTime();
        long steps = 0;
        long virtualNs = 0;
        long count = 0;
        int failures = 0;
        for (long next = first; count < histories && System.nanoTime() < endNs; next++) {
            Outcome outcome = History.of(next, Detail.HASH, root);
            count++;
            steps += outcome.steps();
            virtualNs += outcome.virtualNs();
            if (Boolean.getBoolean("lite.simulate.verbose")) {
                System.out.printf(
                        "seed %d: hash %x, %d steps, %.2f virtual s, %s%n",
                        next, outcome.hash(), outcome.steps(), outcome.virtualNs() / 1e9, outcome.summary());
            }
            String broken = outcome.broken();
            if (broken != null) {
                failures++;
                if (goesOn) {
                    System.out.printf(
                            "seed %d breaks a rule: %s%n",
                            next, broken.lines().limit(4).toList());
                } else {
                    report(outcome, root);
                    break;
                }
            }
        }
        double s = (System.nanoTime() - startNs) / 1e9;
        System.out.printf(
                "%d histories in %.0f s, %.1f a second, %.0f steps a second, %.0f virtual seconds, %d broke a rule%n",
                count, s, count / s, steps / s, virtualNs / 1e9, failures);
        System.exit(failures > 0 ? 1 : 0);
    }

    /** A property; empty when it is not given. */
    private static String given(String name) {
        return System.getProperty("lite.simulate." + name, "").strip();
    }

    private static void report(Outcome outcome, Path root) {
        Detail detail = Detail.valueOf(System.getProperty("lite.simulate.detail", "EVENTS"));
        Outcome again = History.of(outcome.seed(), detail, root);
        again.lines().forEach(System.out::println);
        System.out.println();
        System.out.printf("seed %d breaks a rule: %s%n", outcome.seed(), outcome.broken());
        System.out.println(outcome.summary());
        System.out.println(
                again.hash() == outcome.hash()
                        ? "A second run gave the same history."
                        : "A second run gave ANOTHER history: " + again.broken());
        String mix = given("mix").isEmpty() ? "" : " -Dlite.simulate.mix=" + given("mix");
        String without = given("without").isEmpty() ? "" : " -Dlite.simulate.without=" + given("without");
        System.out.printf(
                "Again: mvn -Psimulate -pl lite-node/lite-simulate -am -Dlite.simulate.seed=%d%s%s%n",
                outcome.seed(), mix, without);
    }

    /** A loop that neither waits nor touches what others share hangs the whole simulation: then the process ends. */
    private static void watch() {
        Thread main = Thread.currentThread();
        Thread watchdog = new Thread(() -> {
            @Nullable Simulation last = null;
            long steps = -1;
            int same = 0;
            while (same < STUCK_SECONDS) {
                try {
                    TimeUnit.SECONDS.sleep(1);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                }
                Simulation now = History.running;
                same = now != null && now == last && now.steps() == steps ? same + 1 : 0;
                last = now;
                steps = now == null ? -1 : now.steps();
            }
            System.out.printf(
                    "seed %d: a loop without a yield point, for %d s%n",
                    last == null ? -1 : last.streams().seed(), STUCK_SECONDS);
            if (last != null) {
                last.currentStack().forEach(frame -> System.out.println("    " + frame));
            }
            for (StackTraceElement frame : main.getStackTrace()) {
                System.out.println("    " + frame);
            }
            Runtime.getRuntime().halt(3);
        });
        watchdog.setDaemon(true);
        watchdog.start();
    }
}
