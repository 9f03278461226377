package dev.lite.tier.testing;

/** Scales the number of repetitions in tests: {@code lite.test.effort}, default 1; smaller on an emulated processor. */
public final class Effort {
    private static final double EFFORT = Double.parseDouble(System.getProperty("lite.test.effort", "1"));

    private Effort() {}

    /** The scaled number of repetitions, at least 1. */
    public static int times(int times) {
        return Math.max(1, (int) (times * EFFORT));
    }
}
