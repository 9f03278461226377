package dev.lite.tier.control;

import dev.lite.tier.peer.Peer;

/** Handles the control requests of one {@link ControlKind}. Runs on a virtual thread; may block. */
@FunctionalInterface
public interface ControlHandler {

    /**
     * Answers one request.
     *
     * @param node the requesting node's id
     * @param request the request; the handler owns it
     * @param reply an empty message; the handler writes the answer into it
     * @throws dev.lite.api.LiteException to answer with that error; the channel logs any other throwable and answers
     *     with an {@link dev.lite.api.RpcFailedException}
     */
    void handle(int node, ControlMessage request, ControlMessage reply);

    /**
     * Handles requests that are about the connection over which they came, or that must not be carried out after its
     * end. When it runs, that connection may have ended, and the node may have another one. This node itself makes no
     * such requests.
     */
    @FunctionalInterface
    interface OfConnection {
        /** Likewise. */
        void handle(Peer peer, ControlMessage request, ControlMessage reply);
    }
}
