package dev.lite.fabric.simulated;

/**
 * The clock of a simulation that a network takes part in, in place of its own. Called under the network's lock, by one thread at
 * a time.
 */
public interface Timeline {
    /** The virtual time, in nanoseconds. */
    long nowNs();

    /** Runs an action at a virtual time, which may have passed; the action blocks nobody. Equal times keep their order. */
    void at(long atNs, Runnable action);

    /**
     * A post is about to touch the memory of a peer.
     *
     * @param from the address of the fabric that posted
     * @param to the address of the fabric that owns the memory
     * @param establishedNs when the connection was made
     */
    void touches(String from, String to, long establishedNs);

    /**
     * A fabric begins to connect.
     *
     * @param from its address
     * @param to the address that it connects to
     */
    void connects(String from, String to);

    /**
     * An immediate was posted.
     *
     * @param from the address of the fabric that posted
     * @param to the address of the fabric that it goes to
     * @param message the address of the bytes that are written before it
     */
    void sends(String from, String to, int immediate, long message);

    /**
     * How long after it closed a connection a fabric reports the connection's end, in nanoseconds. Meanwhile posts of the peer
     * still reach its memory: only the report says that they no longer do.
     */
    long closeReportedAfterNs();
}
