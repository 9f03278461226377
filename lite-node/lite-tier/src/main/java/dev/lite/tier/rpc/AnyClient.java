package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A session's client for one function at any node that serves it. A call goes to the next node only if it certainly was not
 * executed: its binding failed, or the node said so. Any thread.
 */
final class AnyClient implements RpcClient {
    private final AnyNodes nodes;
    private final @Nullable String context;
    private final Priority priority;

    /** @param context of its requests, or null */
    AnyClient(AnyNodes nodes, @Nullable String context, Priority priority) {
        this.nodes = nodes;
        this.context = context;
        this.priority = priority;
    }

    /** One attempt of a call at one node. */
    private interface Attempt<R> {
        R at(RpcClient client, Duration left);
    }

    @Override
    public String node() {
        return "";
    }

    @Override
    public String function() {
        return nodes.function();
    }

    @Override
    public RpcClient withContext(String other) {
        byte[] unused = LtRpc.checkContext(other);
        return new AnyClient(nodes, other, priority);
    }

    @Override
    public RpcClient withPriority(Priority other) {
        return new AnyClient(nodes, context, Objects.requireNonNull(other, "priority"));
    }

    @Override
    public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
        Segments.requireReadable("request", request);
        Segments.requireWritable("reply", reply);
        return call((client, left) -> client.call(request, reply, left), deadline);
    }

    @Override
    public byte[] call(byte[] request, Duration deadline) {
        Objects.requireNonNull(request, "request");
        return call((client, left) -> client.call(request, left), deadline);
    }

    @Override
    public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
        Objects.requireNonNull(request, "request");
        Durations.requirePositive(deadline);
        nodes.requireOpen();
        return nodes.asyncCalls().onThread(this, request, deadline, this::call);
    }

    private <R> R call(Attempt<R> attempt, Duration deadline) {
        Durations.requirePositive(deadline);
        nodes.requireOpen();
        Deadline until = Deadline.in(Duration.ofNanos(FunctionClient.toNanos(deadline)));
        Set<String> tried = new HashSet<>();
        LiteException last = null;
        while (true) {
            AnyNodes.Target target = nodes.choose(tried, until);
            if (target == null) {
                throw noNode(tried.size(), last);
            }
            tried.add(target.client().node());
            try {
                target.begin(until.endNs());
            } catch (LiteTimeoutException | SessionLostException e) {
                throw e;
            } catch (LiteException e) { // nothing was sent
                target.skip();
                last = e;
                continue;
            }
            try {
                RpcClient client = target.client();
                if (priority == Priority.LOW) {
                    client = client.withPriority(priority);
                }
                Duration left = Duration.ofNanos(Math.max(1, until.remainingNs()));
                return attempt.at(context == null ? client : client.withContext(context), left);
            } catch (RpcFailedException e) {
                if (e.status() != RpcStatus.NOT_SERVED && e.status() != RpcStatus.OVERLOADED) {
                    throw e;
                }
                target.skip();
                last = e;
            } finally {
                target.end();
            }
        }
    }

    @Override
    public String toString() {
        return "%s at any node".formatted(RpcNames.describe(nodes.function()));
    }

    private LiteException noNode(int tried, @Nullable LiteException last) {
        if (last instanceof RpcFailedException failed && failed.status() == RpcStatus.OVERLOADED) {
            return failed;
        }
        String function = RpcNames.describe(nodes.function());
        if (last == null) {
            return new RpcFailedException(
                    RpcStatus.NOT_SERVED,
                    "no node serves the %s, as far as node %s knows".formatted(function, nodes.self()));
        }
        return new RpcFailedException(
                RpcStatus.NOT_SERVED,
                0,
                "no node that node %s can reach serves the %s; the last of %s answered: %s"
                        .formatted(nodes.self(), function, Counts.text(tried, "node", "nodes"), last.getMessage()),
                last instanceof NodeUnreachableException ? last : null);
    }
}
