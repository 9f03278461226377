package dev.lite.fabric.driver;

import dev.lite.os.waiting.Deadline;

/**
 * Makes a driver's connections. Passes each to {@link Connections} when it is ready, and never calls the handler.
 *
 * @param <E> the driver's endpoints
 */
public interface Connector<E> {

    /** A new endpoint. Any thread. */
    E create(boolean accepted);

    /** Begins to accept peers. Once. */
    void start();

    /**
     * Makes a connection and passes its link to {@link Connections#ready}. Runs on a thread of its own and may block, until
     * the connection ends if the driver needs that.
     *
     * @throws RuntimeException when no connection could be made; its message is the reason for the handler
     */
    void connect(E endpoint, String address, Deadline deadline);

    /** Accepts no more peers, and ends the handshakes under way with an error. Does not wait for their threads. */
    void stop();
}
