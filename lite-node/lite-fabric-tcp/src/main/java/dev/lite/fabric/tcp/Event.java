package dev.lite.fabric.tcp;

/** What another thread tells the poll role. */
sealed interface Event {
    TcpEndpoint endpoint();

    /** All lanes are there. */
    record Connected(TcpEndpoint endpoint, TcpLink link) implements Event {}

    /** It ended, or was never made. */
    record Ended(TcpEndpoint endpoint) implements Event {}
}
