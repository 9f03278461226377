package dev.lite.fabric;

/**
 * Receives a fabric's events. Every method runs inside {@link Fabric#poll} or {@link Fabric#close}, on the thread that holds
 * the poll role; none may block or throw.
 */
public interface FabricHandler {

    /** An accepted operation completed. */
    void completed(FabricEndpoint endpoint, long context);

    /** An accepted operation failed. */
    void failed(FabricEndpoint endpoint, long context, FabricError error);

    /** The peer's {@link FabricEndpoint#writeImm} arrived, and its data is visible. */
    void immediate(FabricEndpoint endpoint, int immediate);

    /** A connection is open: {@link Fabric#connect} started it, or a peer did ({@code accepted}). */
    void connected(FabricEndpoint endpoint, boolean accepted);

    /**
     * A connection ended or could not be made. Called exactly once for each endpoint, after its last completion.
     *
     * @param reason a sentence for people
     */
    void disconnected(FabricEndpoint endpoint, String reason);
}
