package dev.lite.boot.observe;

import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.SenderContext;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The observation {@code lite.rpc.client}: a call that this application makes. The carrier travels with the request. */
public final class LtRpcClientContext extends SenderContext<Map<String, String>> {

    private final String node;
    private final String function;

    /** For a call of this function at this node. */
    public LtRpcClientContext(String node, String function) {
        super((carrier, key, value) -> Objects.requireNonNull(carrier).put(key, value), Kind.CLIENT);
        this.node = node;
        this.function = function;
        setCarrier(new TreeMap<>());
    }

    /** The called node; empty if it is any node that serves the function. */
    public String node() {
        return node;
    }

    /** What travels with the request: the carrier as text; null if it is empty. What does not fit is left out. */
    public @Nullable String requestContext() {
        Map<String, String> carrier = getCarrier();
        return carrier == null ? null : ContextText.encode(carrier);
    }

    /** The called function. */
    public String function() {
        return function;
    }
}
