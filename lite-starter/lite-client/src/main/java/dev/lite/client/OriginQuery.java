package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.wire.WireError;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A query of the node: who is the caller or sender with this number? It begins with the first wait, and continues if a thread does not
 * wait for its end. Used by one thread at a time.
 */
final class OriginQuery {
    private final RpcCommandPath commands;
    private final long number;
    private @Nullable CompletableFuture<RpcOriginIs> answer;

    OriginQuery(RpcCommandPath commands, long number) {
        this.commands = commands;
        this.number = number;
    }

    /**
     * Waits for the answer. An interrupt does not end the wait; it is kept. After a failure, the next wait asks again.
     *
     * @return null when the deadline passed
     */
    @Nullable
    RpcOriginIs await(long deadlineNs) {
        RpcOriginIs known = commands.knownOrigin(number); // perhaps since another query
        if (known != null) {
            return known;
        }
        CompletableFuture<RpcOriginIs> asked = answer;
        if (asked == null) {
            asked = ask();
            answer = asked;
        }
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return asked.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (TimeoutException e) {
                    return null;
                } catch (ExecutionException e) {
                    answer = null;
                    throw e.getCause() instanceof LiteException failure
                            ? WireError.again(failure, String.valueOf(failure.getMessage()))
                            : new IllegalStateException(e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private CompletableFuture<RpcOriginIs> ask() {
        CompletableFuture<RpcOriginIs> asked = new CompletableFuture<>();
        Thread unused = Thread.ofVirtual().name("lite-client-origin").start(() -> {
            try {
                asked.complete(commands.origin(number));
            } catch (RuntimeException | Error failure) {
                asked.completeExceptionally(failure);
            }
        });
        return asked;
    }
}
