package dev.lite.fabric;

/** The answer to a post. Being busy is a value, not an exception. */
public enum Post {
    /** Finished when the post returned; no completion follows. */
    DONE,
    /** Under way; exactly one completion follows. */
    ACCEPTED,
    /** The queue is full; nothing was taken. Poll, then try again. */
    BUSY,
    /** The endpoint is not connected (any more, or not yet); nothing was taken. */
    CLOSED
}
