package dev.lite.api;

/** When an LMR is freed if no master frees it. */
public enum Lifetime {
    /** Never: it survives its creator and the restart of the nodes that store it. */
    UNTIL_FREED,
    /** When the session that created it ends, for whatever reason. */
    SESSION
}
