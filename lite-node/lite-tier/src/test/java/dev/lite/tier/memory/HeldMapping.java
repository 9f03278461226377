package dev.lite.tier.memory;

import dev.lite.api.Permission;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;

/** For tests: holds a mapping like an operation between two of its pieces. */
public final class HeldMapping {
    private HeldMapping() {}

    /** Begins. */
    public static void hold(Mapping mapping) {
        mapping.hold(Permission.READ.bit(), 0, 1, Deadline.in(Waits.seconds(20)));
    }

    /** Ends. */
    public static void endHold(Mapping mapping) {
        mapping.endHold();
    }
}
