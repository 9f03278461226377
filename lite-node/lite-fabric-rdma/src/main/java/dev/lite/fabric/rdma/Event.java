package dev.lite.fabric.rdma;

/** What another thread tells the poll role. */
sealed interface Event {

    /** All lanes are there. */
    record Connected(RdmaEndpoint endpoint, RdmaLink link) implements Event {}

    /** It ended, or was never made. */
    record Ended(RdmaEndpoint endpoint) implements Event {}

    /** An ended endpoint's queue pairs are destroyed. */
    record TornDown(RdmaEndpoint endpoint) implements Event {}

    /** A lane that never was an endpoint's is destroyed. */
    record Discarded(RdmaLane lane) implements Event {}
}
