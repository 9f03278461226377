package dev.lite.fabric.conformance;

/** Base of all groups of cases. */
interface ConformanceCases {

    /** The fabrics of the running case. */
    TestFabrics fabrics();
}
