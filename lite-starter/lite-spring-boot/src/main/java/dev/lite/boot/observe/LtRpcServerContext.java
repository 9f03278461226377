package dev.lite.boot.observe;

import dev.lite.api.RpcCall;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.ReceiverContext;
import java.util.Map;
import java.util.Objects;

/** The observation {@code lite.rpc.server}: a call that this application executes. The carrier came with the request. */
public final class LtRpcServerContext extends ReceiverContext<Map<String, String>> {

    private final String function;
    private final String callerNode;

    /** For a received call. */
    public LtRpcServerContext(String function, RpcCall call) {
        super((carrier, key) -> Objects.requireNonNull(carrier).get(key), Kind.SERVER);
        this.function = function;
        this.callerNode = call.callerNode();
        setCarrier(ContextText.decode(call.context()));
    }

    /** The function. */
    public String function() {
        return function;
    }

    /** The caller's node. */
    public String callerNode() {
        return callerNode;
    }
}
