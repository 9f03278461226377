package dev.lite.fabric;

/**
 * What a fabric tells the tier. Every method runs inside {@link Fabric#poll} (or {@link Fabric#close}) on the thread that
 * holds the poll role; none may block or throw.
 */
public interface FabricHandler {

    /** An accepted operation is done. */
    void completed(FabricEndpoint endpoint, long context);

    /** An accepted operation failed. */
    void failed(FabricEndpoint endpoint, long context, FabricError error);

    /** The peer's {@link FabricEndpoint#writeImm}: its data is visible. */
    void immediate(FabricEndpoint endpoint, int immediate);

    /** A connection is up: one that {@link Fabric#connect} started, or one that a peer made ({@code accepted}). */
    void connected(FabricEndpoint endpoint, boolean accepted);

    /**
     * A connection is gone, or could not be made. Called exactly once per endpoint, after the last completion of it.
     *
     * @param reason in words
     */
    void disconnected(FabricEndpoint endpoint, String reason);
}
