package dev.lite.os.waiting;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.Objects;

/** Durations in messages. Any thread. */
public final class Durations {
    private static final BigDecimal NS_PER_S = BigDecimal.valueOf(1_000_000_000);
    private static final BigDecimal NS_PER_MS = BigDecimal.valueOf(1_000_000);
    private static final BigDecimal NS_PER_US = BigDecimal.valueOf(1_000);
    private static final int DIGITS = 3;

    private Durations() {}

    /** The duration as a person writes it: {@code 9.5 s}, {@code 250 ms}, {@code 1.2 µs}; at most three decimals. */
    public static String text(Duration duration) {
        BigDecimal ns = BigDecimal.valueOf(duration.getSeconds())
                .multiply(NS_PER_S)
                .add(BigDecimal.valueOf(duration.getNano()));
        BigDecimal size = ns.abs();
        if (size.signum() == 0 || size.compareTo(NS_PER_S) >= 0) {
            return in(ns, NS_PER_S, "s");
        }
        if (size.compareTo(NS_PER_MS) >= 0) {
            return in(ns, NS_PER_MS, "ms");
        }
        return in(ns, NS_PER_US, "µs");
    }

    /**
     * Checks a deadline that an application gave.
     *
     * @throws IllegalArgumentException when it is negative
     */
    public static void requireNotNegative(Duration deadline) {
        if (Objects.requireNonNull(deadline, "deadline").isNegative()) {
            throw new IllegalArgumentException("the deadline is %s; it must not be negative".formatted(text(deadline)));
        }
    }

    /**
     * Checks a deadline that an application gave.
     *
     * @throws IllegalArgumentException when it is negative or zero
     */
    public static void requirePositive(Duration deadline) {
        if (Objects.requireNonNull(deadline, "deadline").isNegative() || deadline.isZero()) {
            throw new IllegalArgumentException("the deadline is %s; it must be positive".formatted(text(deadline)));
        }
    }

    /** {@link #text} of so many nanoseconds. */
    public static String text(long ns) {
        return text(Duration.ofNanos(ns));
    }

    private static String in(BigDecimal ns, BigDecimal unit, String name) {
        BigDecimal number = ns.divide(unit, DIGITS, RoundingMode.HALF_UP).stripTrailingZeros();
        return number.toPlainString() + " " + name;
    }
}
