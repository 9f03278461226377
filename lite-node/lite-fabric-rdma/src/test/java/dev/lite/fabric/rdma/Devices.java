package dev.lite.fabric.rdma;

import org.junit.jupiter.api.Assumptions;

/** Whether tests that need an RDMA device can run here. */
final class Devices {
    static final String SECRET = "a secret of the tests' cluster";

    private Devices() {}

    /** Skips the calling test, and prints the reason, if there is no device. */
    static void assumeOne() {
        var missing = new RdmaFabricProvider().unavailable();
        missing.ifPresent(reason -> System.out.println("skipped, no RDMA here: " + reason));
        Assumptions.assumeTrue(missing.isEmpty(), () -> "no RDMA here: " + missing.orElse(""));
    }
}
