package dev.lite.system;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Lite;
import dev.lite.api.LmrSpec;
import dev.lite.testing.Waits;
import java.util.concurrent.atomic.AtomicInteger;

/** Creates LMRs with new names and frees them. */
final class NameMaker {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private NameMaker() {}

    /** Returns true if it succeeded, false if the cluster's directory was unavailable. Throws any other failure. */
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
