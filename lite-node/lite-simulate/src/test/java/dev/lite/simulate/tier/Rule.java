package dev.lite.simulate.tier;

import org.jspecify.annotations.Nullable;

/** Keeps the first rule of the tier that a history broke. */
public final class Rule {
    private @Nullable String broken;

    /** Says that a rule is broken; only the first time counts. */
    public void broken(String what) {
        if (broken == null) {
            broken = what;
        }
    }

    /** What is broken, or null. */
    public @Nullable String broken() {
        return broken;
    }
}
