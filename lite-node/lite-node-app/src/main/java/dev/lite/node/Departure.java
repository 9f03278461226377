package dev.lite.node;

import dev.lite.tier.node.LiteNode;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/**
 * Moves the node's memory to the other nodes before the node leaves: when its shutdown begins, or earlier, when the hook of its
 * container asks for it. The shutdown that follows such a hook does not drain again. Any thread; a second caller waits for the first.
 */
@Component
class Departure {
    private static final Logger log = LoggerFactory.getLogger(Departure.class);

    /** A container's shutdown follows its hook at once. A later one is another one, and the cluster may have changed. */
    private static final long SAME_NS = TimeUnit.SECONDS.toNanos(30);

    private final LiteNode node;
    private final Duration timeout;
    private long endNs; // of the last drain; guarded by this
    private @Nullable Outcome last; // guarded by this

    Departure(LiteNode node, NodeProperties properties) {
        this.node = node;
        this.timeout = properties.drainTimeout();
    }

    /**
     * What a drain left.
     *
     * @param empty whether the arena has nothing that another node could hold
     * @param detail why it is not empty; empty if it is
     */
    record Outcome(boolean empty, String detail) {}

    /** Whether the node drains at all: lite.node.drain-timeout is not 0. */
    boolean isEnabled() {
        return !timeout.isZero();
    }

    /** Drains for at most lite.node.drain-timeout. Blocks. The node takes no new memory afterwards, unless some could not move. */
    synchronized Outcome drain() {
        Outcome before = last;
        if (before != null && System.nanoTime() - endNs < SAME_NS) {
            return before;
        }
        long startNs = System.nanoTime();
        Optional<String> reason = node.drain(timeout);
        endNs = System.nanoTime();
        Outcome outcome = new Outcome(reason.isEmpty(), reason.orElse(""));
        last = outcome;
        log.info(
                "node leaves name={} drain-ms={} memory={}",
                node.nodeName(),
                TimeUnit.NANOSECONDS.toMillis(endNs - startNs),
                reason.map(why -> "kept: " + why).orElse("empty"));
        return outcome;
    }
}
