package dev.lite.fabric.shm;

/** What a connection's thread tells the poller. */
sealed interface Event {
    ShmEndpoint endpoint();

    /** The handshake is done. */
    record Connected(ShmEndpoint endpoint, ShmLink link) implements Event {}

    /** It ended, or was never made. The last event of an endpoint. */
    record Ended(ShmEndpoint endpoint, String reason) implements Event {}
}
