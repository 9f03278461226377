package dev.lite.fabric.simulated;

import java.time.Duration;

/**
 * The behaviour of a {@link SimulatedNetwork}. Times are virtual.
 *
 * @param seed the seed of all random choices
 * @param stepped whether only {@link SimulatedNetwork#step} and similar methods move the clock; otherwise polling and waiting do
 * @param delayNsMin minimum delay from one node to another, in nanoseconds
 * @param delayNsMax maximum delay, in nanoseconds
 * @param queueDepth maximum number of outstanding posts, and of immediates that the peer has not taken, before an endpoint is busy
 * @param operationBytesMax maximum length of a read or write, in bytes
 * @param dropRate the probability that an accepted post breaks its connection
 * @param pauseRate the probability that the node pauses after an accepted post
 * @param pauseNsMax maximum duration of such a pause, in nanoseconds
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

    /** Delays of 1 to 50 µs, 64 posts per endpoint, 2 MiB per post, no faults; polling moves the clock. */
    public static SimulatedOptions seeded(long seed) {
        return new SimulatedOptions(seed, false, 1_000, 50_000, 64, 2 << 20, 0, 0, 1);
    }

    /** The same, but only {@link SimulatedNetwork#step} and similar methods move the clock. */
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
