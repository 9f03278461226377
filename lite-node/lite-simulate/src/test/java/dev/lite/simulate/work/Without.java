package dev.lite.simulate.work;

import java.util.Set;

/**
 * Parts of the workload to leave out, from the system property {@code lite.simulate.without}: what finds a fault that is known
 * already hides the others. Another workload makes other histories of the same seeds.
 */
final class Without {
    private static final Set<String> PARTS =
            Set.of(System.getProperty("lite.simulate.without", "").split(","));

    private Without() {}

    /** Whether this part is left out. */
    static boolean is(String part) {
        return PARTS.contains(part);
    }
}
