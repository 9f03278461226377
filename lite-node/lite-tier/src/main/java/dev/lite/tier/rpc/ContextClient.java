package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LtRpc;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.os.Segments;
import dev.lite.session.wire.WireText;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** A client whose requests carry a context: its bytes are sent before those of the request. Any thread. */
final class ContextClient implements PostedCall.Client {
    private final FunctionClient client;
    private final byte[] context;

    /** @param context at least one byte; not changed any more */
    ContextClient(FunctionClient client, byte[] context) {
        this.client = client;
        this.context = context;
    }

    @Override
    public String node() {
        return client.node();
    }

    @Override
    public String function() {
        return client.function();
    }

    @Override
    public RpcClient withContext(String other) {
        return client.withContext(other);
    }

    @Override
    public RpcClient withPriority(Priority priority) {
        return new ContextClient(client.withPriority(priority), context);
    }

    private byte[] message(byte[] request) {
        WireText.checkRequest(
                "the request",
                Objects.requireNonNull(request, "request").length,
                context.length,
                LtRpc.MESSAGE_BYTES_MAX);
        byte[] message = Arrays.copyOf(context, context.length + request.length);
        System.arraycopy(request, 0, message, context.length, request.length);
        return message;
    }

    private MemorySegment message(MemorySegment request) {
        Segments.requireReadable("request", request);
        WireText.checkRequest("the request", request.byteSize(), context.length, LtRpc.MESSAGE_BYTES_MAX);
        int length = (int) request.byteSize();
        byte[] message = Arrays.copyOf(context, context.length + length);
        MemorySegment.copy(request, ValueLayout.JAVA_BYTE, 0, message, context.length, length);
        return MemorySegment.ofArray(message);
    }

    @Override
    public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
        return client.call(message(request), context.length, reply, deadline);
    }

    @Override
    public boolean tryCall(MemorySegment request, int replyCapacity, long timeoutNs, PostedCall call) {
        return client.tryCall(message(request), context.length, replyCapacity, timeoutNs, call);
    }

    @Override
    public byte[] call(byte[] request, Duration deadline) {
        return client.call(message(request), context.length, deadline);
    }

    @Override
    public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
        byte[] message;
        try {
            message = message(request);
        } catch (LimitExceededException e) {
            return CompletableFuture.failedFuture(e);
        }
        return client.callAsync(message, context.length, deadline);
    }
}
