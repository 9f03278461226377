package dev.lite.simulate.tier;

import java.time.Duration;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * What kind of history a seed gives. It is drawn first, so that histories differ in more than their order.
 *
 * @param mix what it is directed at
 * @param nodes how many
 * @param threadsPerNode applications of each node, one thread each
 * @param runNs how long they work at most, in virtual time
 * @param stepsPerThread how many steps each makes at most
 * @param thinkNsMax the longest pause between two steps of an application
 * @param deadline the nodes' default deadline
 * @param faults how many faults a virtual second has, on average; 0 for none
 * @param lossRate the probability that the directory loses a request
 * @param newsNsMax the longest that most news of the directory travels
 * @param nearLimits whether counters start just below their limits
 */
public record Shape(
        Mix mix,
        int nodes,
        int threadsPerNode,
        long runNs,
        int stepsPerThread,
        long thinkNsMax,
        Duration deadline,
        double faults,
        double lossRate,
        long newsNsMax,
        boolean nearLimits) {

    static final long MS = 1_000_000;
    private static final List<Mix> MIXES = List.of(Mix.values());

    /** Every history is directed at this; empty: as drawn. */
    private static final String ONLY = System.getProperty("lite.simulate.mix", "");

    /** Draws a shape. */
    public static Shape draw(RandomGenerator random) {
        Mix drawn = MIXES.get(random.nextInt(MIXES.size()));
        Mix mix = ONLY.isEmpty() ? drawn : Mix.valueOf(ONLY);
        return mix == Mix.ANY ? any(random) : directed(mix, random);
    }

    private static Shape any(RandomGenerator random) {
        boolean crowded = random.nextInt(8) == 0;
        boolean calm = random.nextInt(6) == 0;
        int nodes = crowded ? 2 : random.nextInt(4) == 0 ? 4 : 3;
        int threads = crowded ? 40 : 1 + random.nextInt(3);
        return new Shape(
                Mix.ANY,
                nodes,
                threads,
                (200 + random.nextInt(1200)) * MS,
                (200 + random.nextInt(600)) / (nodes * threads),
                crowded ? 200_000 : (1L << random.nextInt(6)) * MS / 2,
                Duration.ofMillis(300 + random.nextInt(700)),
                calm ? 0 : 1 + random.nextInt(12),
                random.nextBoolean() ? 0 : 0.03 * random.nextDouble(),
                random.nextBoolean() ? MS : (1L << random.nextInt(6)) * MS,
                random.nextInt(3) == 0);
    }

    /** Three nodes and few threads, so that a history is short; slow ones where faults take long. */
    private static Shape directed(Mix mix, RandomGenerator random) {
        if (mix == Mix.TRANSFERS) {
            return transfers(random);
        }
        boolean slow = mix == Mix.SESSIONS || mix == Mix.HOLDERS || mix == Mix.RETURNS;
        boolean removals = mix == Mix.REMOVALS;
        return new Shape(
                mix,
                removals ? 4 : 3,
                mix == Mix.CUTS ? 2 + random.nextInt(5) : 1 + random.nextInt(2),
                (slow || removals ? 1_500 + random.nextInt(1_500) : 500 + random.nextInt(1_000)) * MS,
                slow || removals ? 120 : mix == Mix.CUTS ? 50 : 80,
                (slow ? 8L << random.nextInt(3) : 1L << random.nextInt(4)) * MS,
                Duration.ofMillis(300 + random.nextInt(400)),
                removals ? 2 : mix == Mix.HANGS ? random.nextInt(3) : 4 + random.nextInt(6),
                random.nextInt(3) == 0 ? 0.02 * random.nextDouble() : 0,
                MS,
                random.nextInt(3) == 0);
    }

    private static Shape transfers(RandomGenerator random) {
        return new Shape(
                Mix.TRANSFERS, 2, 4 + random.nextInt(8), 1_000 * MS, 100, 0, Duration.ofSeconds(5), 0, 0, MS, false);
    }
}
