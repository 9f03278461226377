package dev.lite.api;

/** How long an LMR lives when nobody frees it. */
public enum Lifetime {
    /** Until a master frees it; it survives its creator and the restart of the nodes that hold it. */
    UNTIL_FREED,
    /** It is freed when the session that created it ends, however it ends. */
    SESSION
}
