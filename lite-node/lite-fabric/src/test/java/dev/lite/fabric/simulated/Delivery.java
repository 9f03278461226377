package dev.lite.fabric.simulated;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;

/** A pending handler call, which a poll will make. */
sealed interface Delivery {

    /** The endpoint of the call. */
    SimulatedEndpoint endpoint();

    /** Makes the call. The network's lock must not be held. */
    void to(FabricHandler handler);

    record Completed(SimulatedEndpoint endpoint, long context) implements Delivery {
        @Override
        public void to(FabricHandler handler) {
            handler.completed(endpoint, context);
        }
    }

    record Failed(SimulatedEndpoint endpoint, long context, FabricError error) implements Delivery {
        @Override
        public void to(FabricHandler handler) {
            handler.failed(endpoint, context, error);
        }
    }

    record Immediate(SimulatedEndpoint endpoint, int immediate) implements Delivery {
        @Override
        public void to(FabricHandler handler) {
            handler.immediate(endpoint, immediate);
        }
    }

    record Connected(SimulatedEndpoint endpoint, boolean accepted) implements Delivery {
        @Override
        public void to(FabricHandler handler) {
            handler.connected(endpoint, accepted);
        }
    }

    record Disconnected(SimulatedEndpoint endpoint, String reason) implements Delivery {
        @Override
        public void to(FabricHandler handler) {
            handler.disconnected(endpoint, reason);
        }
    }
}
