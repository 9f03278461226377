package dev.lite.tier.control;

import java.nio.ByteBuffer;

/** Carries out one control request. Runs on a virtual thread; may block. */
public interface ControlHandler {

    /**
     * Answers one request.
     *
     * @param node the requesting node's id
     * @param request the request; the handler's own
     * @return the reply, at most {@link ControlChannel#MESSAGE_BYTES_MAX} bytes
     * @throws dev.lite.api.LiteException to answer with that error
     * @throws IllegalArgumentException when the request is malformed
     */
    byte[] handle(int node, ByteBuffer request);
}
