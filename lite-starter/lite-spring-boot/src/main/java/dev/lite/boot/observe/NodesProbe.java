package dev.lite.boot.observe;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeInfo;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Asks a session's node for the nodes of the cluster, for callers that want an answer soon: a node that hangs
 * would keep them for the session's deadline. They wait at most a second, or for the session's deadline if that is
 * shorter. There is never more than one question, and one thread, under way; later callers wait for its answer.
 * Any thread.
 */
public final class NodesProbe {

    private static final Duration WAIT_MAX = Duration.ofSeconds(1);

    private final Lite lite;
    private final Duration wait;
    private @Nullable FutureTask<List<NodeInfo>> question; // guarded by this

    /** Asks this session, which the caller still owns and closes. */
    public NodesProbe(Lite lite) {
        this.lite = lite;
        wait = lite.deadline().compareTo(WAIT_MAX) < 0 ? lite.deadline() : WAIT_MAX;
    }

    /**
     * {@link Lite#nodes}, with its exceptions.
     *
     * @throws LiteTimeoutException also when the thread was interrupted; the interrupt is kept
     */
    public List<NodeInfo> nodes() {
        try {
            return question().get(wait.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new LiteTimeoutException(
                    "this host's node did not answer within %d ms".formatted(Math.max(1, wait.toMillis())), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LiteTimeoutException("interrupted while waiting for this host's node", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException("this host's node could not be asked", e.getCause());
        }
    }

    private synchronized FutureTask<List<NodeInfo>> question() {
        FutureTask<List<NodeInfo>> current = question;
        if (current == null || current.isDone()) {
            current = new FutureTask<>(lite::nodes);
            question = current;
            Thread unused = Thread.ofVirtual().name("lite-probe").start(current);
        }
        return current;
    }
}
