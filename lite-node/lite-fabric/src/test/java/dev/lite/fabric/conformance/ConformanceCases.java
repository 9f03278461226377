package dev.lite.fabric.conformance;

/** What every group of cases builds on. */
interface ConformanceCases {

    /** The fabrics of the running case. */
    TestFabrics fabrics();
}
