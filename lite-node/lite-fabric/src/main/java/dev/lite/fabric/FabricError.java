package dev.lite.fabric;

/** Why an accepted operation failed. */
public enum FabricError {
    /** The endpoint was closed, or lost its peer, before the operation was done; it may have been carried out or not. */
    FLUSHED,
    /** The peer refused it: outside of its registered memory. */
    REFUSED,
    /** The peer did not answer in time; the endpoint closes. */
    TIMED_OUT
}
