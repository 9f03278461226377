package dev.lite.tier.testing;

import java.util.Random;
import java.util.function.Consumer;

/** Random cases. A failure reports the seed with which to repeat it: {@code -Dlite.test.args=-Dlite.test.seed=…}. */
public final class Seeds {
    private Seeds() {}

    /** Runs a case {@code times} times, each with its own seed; or once with the seed of the system property. */
    public static void forEach(int times, Consumer<Random> body) {
        Long fixed = Long.getLong("lite.test.seed");
        long first = fixed != null ? fixed : System.nanoTime();
        for (int run = 0; run < (fixed != null ? 1 : times); run++) {
            long seed = first + run;
            try {
                body.accept(new Random(seed));
            } catch (RuntimeException | Error e) {
                throw new AssertionError("with -Dlite.test.seed=%d: %s".formatted(seed, e.getMessage()), e);
            }
        }
    }
}
