package dev.lite.tier.peer;

import dev.lite.fabric.Fabric;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread that holds a fabric's poll role: it polls, spins briefly when there is nothing, then sleeps. */
final class FabricPoller implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(FabricPoller.class);
    private static final int POLL_LIMIT = 256;
    private static final long SLEEP_NS = 100_000_000;
    private static final long CLOSE_MS = 5_000;

    private final Fabric fabric;
    private final int spins;
    private final Thread thread;
    private volatile boolean stopped;

    FabricPoller(Fabric fabric, int spins) {
        this.fabric = fabric;
        this.spins = spins;
        this.thread =
                Thread.ofPlatform().name("lite-poll-" + fabric.name()).daemon().unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    private void run() {
        int idle = 0;
        while (!stopped) {
            try {
                if (fabric.poll(POLL_LIMIT) > 0) {
                    idle = 0;
                } else if (idle < spins) {
                    idle++;
                    Thread.onSpinWait();
                } else {
                    fabric.await(SLEEP_NS);
                    idle = 0;
                }
            } catch (RuntimeException e) {
                // A driver's defect must not end the node's connections silently.
                log.error("polling the {} fabric failed; going on", fabric.name(), e);
                fabric.await(SLEEP_NS);
            }
        }
        fabric.close();
    }

    /** Ends the thread, which closes the fabric as its last act. */
    @Override
    public void close() {
        stopped = true;
        fabric.wakeup();
        boolean interrupted = false;
        try {
            thread.join(CLOSE_MS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (thread.isAlive()) {
            log.warn("the {} fabric did not close within {} ms", fabric.name(), CLOSE_MS);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
