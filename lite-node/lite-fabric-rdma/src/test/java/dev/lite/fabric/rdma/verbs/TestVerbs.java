package dev.lite.fabric.rdma.verbs;

import com.ibm.disni.verbs.impl.NativeDispatcher;

/** Verbs over a test's own calls. */
public final class TestVerbs {
    private TestVerbs() {}

    public static Verbs of(NativeDispatcher calls) {
        return new Verbs(calls);
    }
}
