package dev.lite.tier.control;

/** Carries out the control requests of one {@link ControlKind}. Runs on a virtual thread; may block. */
@FunctionalInterface
public interface ControlHandler {

    /**
     * Answers one request.
     *
     * @param node the requesting node's id
     * @param request the request; the handler's own
     * @param reply empty; what the handler puts into it is the answer
     * @throws dev.lite.api.LiteException to answer with that error; any other throwable is answered as an {@link
     *     dev.lite.api.RpcFailedException} and logged
     */
    void handle(int node, ControlMessage request, ControlMessage reply);
}
