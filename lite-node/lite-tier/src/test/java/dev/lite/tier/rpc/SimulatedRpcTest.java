package dev.lite.tier.rpc;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** Calls over the simulated network: nothing is mapped, and every post completes after a delay. */
@ExtendWith(SimulatedRpcTest.TellSeed.class)
class SimulatedRpcTest extends RpcContract {
    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    /** Prints the seed of a failed test. */
    static final class TellSeed implements TestWatcher {
        @Override
        @SuppressWarnings("SystemOut")
        public void testFailed(ExtensionContext context, @Nullable Throwable cause) {
            context.getTestInstance()
                    .ifPresent(test ->
                            System.err.println(context.getDisplayName() + ": " + ((SimulatedRpcTest) test).network));
        }
    }

    @Override
    FabricProvider provider() {
        return network.provider();
    }
}
