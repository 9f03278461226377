package dev.lite.boot;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Observes the calls of {@link LtRpcTemplate} and of {@link LtRpcHandler} methods. Any thread. */
interface CallObserver {

    /** Observes nothing. */
    CallObserver NONE = new CallObserver() {
        @Override
        public byte[] call(RpcClient client, byte[] request, Duration deadline) {
            return client.call(request, deadline);
        }

        @Override
        public CompletableFuture<byte[]> callAsync(RpcClient client, byte[] request, Duration deadline) {
            return client.callAsync(request, deadline);
        }

        @Override
        public MemorySegment handle(String function, RpcCall call, RpcHandler handler) {
            return handler.handle(call);
        }
    };

    /** Makes a call. */
    byte[] call(RpcClient client, byte[] request, Duration deadline);

    /** Starts a call. */
    CompletableFuture<byte[]> callAsync(RpcClient client, byte[] request, Duration deadline);

    /** Executes a received call. */
    MemorySegment handle(String function, RpcCall call, RpcHandler handler);
}
