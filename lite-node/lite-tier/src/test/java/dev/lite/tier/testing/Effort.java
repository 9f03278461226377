package dev.lite.tier.testing;

/** How often tests repeat what they could repeat for ever: {@code lite.test.effort}, 1 where it is not given, less on an emulated processor. */
public final class Effort {
    private static final double EFFORT = Double.parseDouble(System.getProperty("lite.test.effort", "1"));

    private Effort() {}

    /** So many times as things are, and once at least. */
    public static int times(int times) {
        return Math.max(1, (int) (times * EFFORT));
    }
}
