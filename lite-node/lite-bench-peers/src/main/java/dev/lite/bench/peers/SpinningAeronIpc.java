package dev.lite.bench.peers;

import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

/**
 * Aeron as one runs it where each thread has a processor: callers and the serving thread spin. They sleep only after some 20 ms without
 * a message, so that they take no processor from the rows of others.
 */
public final class SpinningAeronIpc extends AeronIpc {
    private static final long SPINS = 200_000;
    private static final long SLEEP_NS = 1_000_000;

    @Override
    public String name() {
        return "Aeron IPC, spinning";
    }

    @Override
    IdleStrategy idleStrategy() {
        return new BackoffIdleStrategy(SPINS, 1, SLEEP_NS, SLEEP_NS);
    }
}
