package dev.lite.boot;

import dev.lite.api.LiteException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandler;
import dev.lite.boot.observe.LtRpcClientContext;
import dev.lite.boot.observe.LtRpcServerContext;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Observes calls with Micrometer: {@code lite.rpc.client} at the caller, {@code lite.rpc.server} around the handler. What tracing puts
 * into the caller's carrier travels with the request, so both belong to one trace.
 */
final class ObservedCalls implements CallObserver {

    private static final String CLIENT = "lite.rpc.client";
    private static final String SERVER = "lite.rpc.server";
    private static final String ANY = "any";
    private static final String SUCCESS = "success";

    private final ObservationRegistry registry;

    ObservedCalls(ObservationRegistry registry) {
        this.registry = registry;
    }

    @Override
    public byte[] call(RpcClient client, byte[] request, Duration deadline) {
        if (registry.isNoop()) {
            return client.call(request, deadline);
        }
        LtRpcClientContext context = new LtRpcClientContext(client.node(), client.function());
        Observation observation = started(context);
        return within(observation, () -> withCarrier(client, context).call(request, deadline));
    }

    private static <T> T within(Observation observation, Supplier<T> work) {
        Observation.Scope scope = observation.openScope();
        Throwable failure = null;
        try {
            return work.get();
        } catch (RuntimeException | Error e) {
            failure = e;
            throw e;
        } finally {
            scope.close();
            end(observation, failure);
        }
    }

    @Override
    public CompletableFuture<byte[]> callAsync(RpcClient client, byte[] request, Duration deadline) {
        if (registry.isNoop()) {
            return client.callAsync(request, deadline);
        }
        LtRpcClientContext context = new LtRpcClientContext(client.node(), client.function());
        Observation observation = started(context);
        try {
            return withCarrier(client, context)
                    .callAsync(request, deadline)
                    .whenComplete((reply, failure) -> end(observation, cause(failure)));
        } catch (RuntimeException | Error e) {
            end(observation, e);
            throw e;
        }
    }

    private static @Nullable Throwable cause(@Nullable Throwable failure) {
        return failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
    }

    private Observation started(LtRpcClientContext context) {
        return Observation.createNotStarted(CLIENT, () -> context, registry)
                .contextualName("call " + context.function())
                .lowCardinalityKeyValues(KeyValues.of(
                        "node", context.node().isEmpty() ? ANY : context.node(), "function", context.function()))
                .start();
    }

    private static RpcClient withCarrier(RpcClient client, LtRpcClientContext context) {
        String text = context.requestContext();
        return text == null ? client : client.withContext(text);
    }

    @Override
    public MemorySegment handle(String function, RpcCall call, RpcHandler handler) {
        if (registry.isNoop()) {
            return handler.handle(call);
        }
        Observation observation = Observation.createNotStarted(
                        SERVER, () -> new LtRpcServerContext(function, call), registry)
                .contextualName("handle " + function)
                .lowCardinalityKeyValue("function", function)
                .start();
        return within(observation, () -> handler.handle(call));
    }

    private static void end(Observation observation, @Nullable Throwable failure) {
        observation.lowCardinalityKeyValue(KeyValue.of("outcome", outcome(failure)));
        if (failure != null) {
            observation.error(failure);
        }
        observation.stop();
    }

    /** A few values: the status of a failed call, or the code of another error. */
    private static String outcome(@Nullable Throwable failure) {
        String name = switch (failure) {
            case null -> SUCCESS;
            case RpcFailedException failed -> failed.status().name();
            case LiteException error -> error.code().name();
            default -> "error";
        };
        return name.toLowerCase(Locale.ROOT);
    }
}
