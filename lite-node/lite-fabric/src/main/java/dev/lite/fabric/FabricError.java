package dev.lite.fabric;

/** Why an accepted operation failed. */
public enum FabricError {
    /** The endpoint was closed, or lost its peer, before the operation completed; it may or may not have been carried out. */
    FLUSHED,
    /** The peer refused it: the range is outside its registered memory. */
    REFUSED,
    /** The peer did not answer in time; the endpoint closes. */
    TIMED_OUT
}
