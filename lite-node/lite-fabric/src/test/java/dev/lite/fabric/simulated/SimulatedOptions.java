package dev.lite.fabric.simulated;

import java.time.Duration;

/**
 * How a {@link SimulatedNetwork} behaves. Times are virtual.
 *
 * @param seed what every random choice comes from
 * @param stepped whether only {@link SimulatedNetwork#step} and its like move the clock; otherwise polling and awaiting do
 * @param delayNsMin the shortest way from one node to another, in nanoseconds
 * @param delayNsMax the longest, in nanoseconds
 * @param queueDepth how many posts, and how many immediates the peer did not take yet, an endpoint holds before it is busy
 * @param operationBytesMax the longest single read or write, in bytes
 * @param dropRate the probability that an accepted post breaks its connection
 * @param pauseRate the probability that an accepted post is the last one before its node pauses
 * @param pauseNsMax the longest such pause, in nanoseconds
 */
public record SimulatedOptions(
        long seed,
        boolean stepped,
        long delayNsMin,
        long delayNsMax,
        int queueDepth,
        long operationBytesMax,
        double dropRate,
        double pauseRate,
        long pauseNsMax) {

    /** Checks the ranges. */
    public SimulatedOptions {
        require(delayNsMin >= 1 && delayNsMin <= delayNsMax, "delays", delayNsMin + " to " + delayNsMax + " ns");
        require(queueDepth >= 1, "queueDepth", queueDepth);
        require(operationBytesMax >= 1, "operationBytesMax", operationBytesMax);
        require(dropRate >= 0 && dropRate <= 1, "dropRate", dropRate);
        require(pauseRate >= 0 && pauseRate <= 1, "pauseRate", pauseRate);
        require(pauseNsMax >= 1, "pauseNsMax", pauseNsMax);
    }

    /** Delays of 1 to 50 µs, 64 posts to an endpoint, 2 MiB to a post, no faults; polling moves the clock. */
    public static SimulatedOptions seeded(long seed) {
        return new SimulatedOptions(seed, false, 1_000, 50_000, 64, 2 << 20, 0, 0, 1);
    }

    /** The same, with a clock that only {@link SimulatedNetwork#step} and its like move. */
    public SimulatedOptions withSteps() {
        return new SimulatedOptions(
                seed, true, delayNsMin, delayNsMax, queueDepth, operationBytesMax, dropRate, pauseRate, pauseNsMax);
    }

    /** The same with these delays. */
    public SimulatedOptions withDelay(Duration min, Duration max) {
        return new SimulatedOptions(
                seed,
                stepped,
                min.toNanos(),
                max.toNanos(),
                queueDepth,
                operationBytesMax,
                dropRate,
                pauseRate,
                pauseNsMax);
    }

    /** The same with this queue depth. */
    public SimulatedOptions withQueueDepth(int depth) {
        return new SimulatedOptions(
                seed, stepped, delayNsMin, delayNsMax, depth, operationBytesMax, dropRate, pauseRate, pauseNsMax);
    }

    /** The same with faults: the probabilities are per accepted post. */
    public SimulatedOptions withFaults(double drops, double pauses, Duration pauseMax) {
        return new SimulatedOptions(
                seed,
                stepped,
                delayNsMin,
                delayNsMax,
                queueDepth,
                operationBytesMax,
                drops,
                pauses,
                pauseMax.toNanos());
    }

    private static void require(boolean holds, String what, Object value) {
        if (!holds) {
            throw new IllegalArgumentException("simulated network: %s out of range: %s".formatted(what, value));
        }
    }
}
