package dev.lite.system;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Lite;
import dev.lite.api.LmrSpec;
import dev.lite.testing.Waits;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes LMRs of new names and frees them. */
final class NameMaker {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private NameMaker() {}

    /** Whether it was done; not when the cluster's directory was away. Any other failure is the caller's. */
    static boolean tryOne(Lite lite) {
        try {
            lite.memory()
                    .malloc(LmrSpec.of(4096).withName("made/" + COUNT.incrementAndGet()), Waits.seconds(5))
                    .free();
            return true;
        } catch (ClusterUnavailableException e) {
            return false;
        }
    }
}
