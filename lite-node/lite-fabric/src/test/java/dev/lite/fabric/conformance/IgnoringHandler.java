package dev.lite.fabric.conformance;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;

/** Ignores what its class does not override. */
public interface IgnoringHandler extends FabricHandler {
    @Override
    default void completed(FabricEndpoint endpoint, long context) {}

    @Override
    default void failed(FabricEndpoint endpoint, long context, FabricError error) {}

    @Override
    default void immediate(FabricEndpoint endpoint, int immediate) {}

    @Override
    default void connected(FabricEndpoint endpoint, boolean accepted) {}

    @Override
    default void disconnected(FabricEndpoint endpoint, String reason) {}
}
