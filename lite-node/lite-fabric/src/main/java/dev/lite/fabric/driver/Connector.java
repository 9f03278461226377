package dev.lite.fabric.driver;

import dev.lite.os.waiting.Deadline;

/**
 * Makes a driver's connections. Passes each to {@link Connections} when it is ready, and never calls the handler.
 *
 * @param <E> the driver's endpoints
 */
public interface Connector<E> {

    /** Creates an endpoint. Any thread. */
    E create(boolean accepted);

    /** Starts to accept peers. Called once. */
    void start();

    /**
     * Makes a connection and passes its link to {@link Connections#ready}. Runs on a thread of its own and may block, until
     * the connection ends if the driver needs that.
     *
     * @throws RuntimeException if no connection could be made; its message is the reason for the handler
     */
    void connect(E endpoint, String address, Deadline deadline);

    /** Stops accepting peers, and ends running handshakes with an error. Does not wait for their threads. */
    void stop();
}
