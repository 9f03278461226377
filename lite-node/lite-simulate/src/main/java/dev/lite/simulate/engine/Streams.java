package dev.lite.simulate.engine;

import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/**
 * Independent streams of random numbers from one seed, by name: another draw in one stream changes nothing in the others. So a
 * fault that is added does not turn the workload into another one.
 */
public final class Streams {
    private static final long GOLDEN = 0x9E37_79B9_7F4A_7C15L;

    private final long seed;

    /** @param seed what every stream comes from */
    public Streams(long seed) {
        this.seed = seed;
    }

    /** The seed. */
    public long seed() {
        return seed;
    }

    /** A stream from its beginning. */
    public RandomGenerator stream(String name) {
        return RandomGeneratorFactory.of("L64X128MixRandom").create(seedOf(name));
    }

    /** A seed for something that makes a stream of its own. */
    public long seedOf(String name) {
        long mixed = (seed + name.hashCode()) * GOLDEN;
        return mixed ^ (mixed >>> 29);
    }
}
