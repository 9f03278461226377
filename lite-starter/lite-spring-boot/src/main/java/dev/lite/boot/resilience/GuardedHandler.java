package dev.lite.boot.resilience;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcHandlerException;
import io.github.resilience4j.bulkhead.Bulkhead;
import java.lang.foreign.MemorySegment;

/** A handler that executes no more calls at the same time than its bulkhead permits. Any thread. */
final class GuardedHandler implements RpcHandler {

    /** The handler's code of a refused call, as in HTTP. */
    static final int FULL = 503;

    private final String function;
    private final RpcHandler handler;
    private final Bulkhead bulkhead;

    GuardedHandler(String function, RpcHandler handler, Bulkhead bulkhead) {
        this.function = function;
        this.handler = handler;
        this.bulkhead = bulkhead;
    }

    /** So many calls, in words. */
    static String calls(int count) {
        return count == 1 ? "1 call" : count + " calls";
    }

    @Override
    public MemorySegment handle(RpcCall call) {
        if (!bulkhead.tryAcquirePermission()) {
            throw new RpcHandlerException(
                    FULL,
                    "the bulkhead \"%s\" permits %s of \"%s\" at the same time"
                            .formatted(
                                    bulkhead.getName(),
                                    calls(bulkhead.getBulkheadConfig().getMaxConcurrentCalls()),
                                    function));
        }
        try {
            return handler.handle(call);
        } finally {
            bulkhead.onComplete();
        }
    }
}
