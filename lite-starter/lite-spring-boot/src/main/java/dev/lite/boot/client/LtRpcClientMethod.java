package dev.lite.boot.client;

import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.boot.DeferredResults;
import dev.lite.boot.LtRpcTemplate;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.springframework.core.GenericTypeResolver;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;

/** A method of a client interface, checked. Immutable; any thread. */
final class LtRpcClientMethod {

    private static final int NONE = -1;
    /** The last parameter of a suspend function of Kotlin, which need not be on the class path. */
    private static final String CONTINUATION = "kotlin.coroutines.Continuation";

    private final LtRpcTemplate template;
    private final String node;
    private final String function;
    private final Duration deadline;
    private final int requestIndex;
    private final int deadlineIndex;
    private final boolean asynchronous;
    private final ParameterizedTypeReference<Object> replyType;

    private LtRpcClientMethod(
            LtRpcTemplate template,
            String node,
            String function,
            Duration deadline,
            Parameters parameters,
            Reply reply) {
        this.template = template;
        this.node = node;
        this.function = function;
        this.deadline = deadline;
        this.requestIndex = parameters.request();
        this.deadlineIndex = parameters.deadline();
        this.asynchronous = reply.asynchronous();
        this.replyType = ParameterizedTypeReference.forType(reply.type());
    }

    /** Where the request and the deadline are among the arguments; {@link #NONE} if there is none. */
    private record Parameters(int request, int deadline) {}

    /** The type of a reply, and whether the method returns a future of it. */
    private record Reply(Type type, boolean asynchronous) {}

    /**
     * Checks the method.
     *
     * @throws IllegalStateException when it cannot be a call
     */
    static LtRpcClientMethod of(Method method, ClientSettings settings, LtRpcTemplate template) {
        LtRpcExchange exchange = AnnotatedElementUtils.findMergedAnnotation(method, LtRpcExchange.class);
        String name = exchange == null ? "" : settings.resolve(method, "function", exchange.value());
        String function = settings.prefix() + (name.isEmpty() ? method.getName() : name);
        try {
            LtRpc.checkName(function);
        } catch (LiteException | IllegalArgumentException e) {
            throw new IllegalStateException(message(settings.type(), method, e.getMessage()), e);
        }
        return new LtRpcClientMethod(
                template,
                settings.node(),
                function,
                exchange == null ? settings.deadline() : settings.deadline(method, exchange.deadline()),
                parameters(settings.type(), method, template),
                reply(settings.type(), method, template));
    }

    private static Parameters parameters(Class<?> client, Method method, LtRpcTemplate template) {
        int request = NONE;
        int deadline = NONE;
        for (int index = 0; index < method.getParameterCount(); index++) {
            Class<?> raw = method.getParameterTypes()[index];
            check(
                    !raw.getName().equals(CONTINUATION),
                    client,
                    method,
                    "it is a suspend function; a call waits for its reply, or returns a CompletableFuture");
            if (raw == Duration.class) {
                check(deadline == NONE, client, method, "it has two parameters for the deadline");
                deadline = index;
            } else {
                check(request == NONE, client, method, "it has two parameters for the request; a record can hold both");
                check(template.supports(raw), client, method, "Jackson is missing for its parameter");
                request = index;
            }
        }
        return new Parameters(request, deadline);
    }

    private static Reply reply(Class<?> client, Method method, LtRpcTemplate template) {
        boolean asynchronous = method.getReturnType() == CompletableFuture.class;
        Type type = replyType(client, method);
        String deferred = DeferredResults.describe(ResolvableType.forType(type));
        check(
                deferred == null,
                client,
                method,
                "it returns %s; use CompletableFuture, or the reply's own type".formatted(deferred));
        check(isKnown(type), client, method, "the type of its reply is not known: " + type.getTypeName());
        check(template.supports(type), client, method, "Jackson is missing for its return type");
        return new Reply(type, asynchronous);
    }

    /** Whether a reply can be converted to this type: a type variable and an unbounded wildcard stand for nothing. */
    private static boolean isKnown(Type type) {
        return switch (type) {
            case Class<?> known -> true;
            case ParameterizedType generic ->
                Arrays.stream(generic.getActualTypeArguments()).allMatch(LtRpcClientMethod::isKnown);
            case GenericArrayType array -> isKnown(array.getGenericComponentType());
            case WildcardType wildcard ->
                wildcard.getUpperBounds()[0] != Object.class && isKnown(wildcard.getUpperBounds()[0]);
            default -> false;
        };
    }

    /** The type of the reply, with the type variables of a generic parent interface replaced. */
    static Type replyType(Class<?> client, Method method) {
        Type returned = GenericTypeResolver.resolveType(method.getGenericReturnType(), client);
        return method.getReturnType() == CompletableFuture.class
                ? ResolvableType.forType(returned).getGeneric().getType()
                : returned;
    }

    private static void check(boolean condition, Class<?> client, Method method, String error) {
        if (!condition) {
            throw new IllegalStateException(message(client, method, error));
        }
    }

    private static String message(Class<?> client, Method method, @Nullable String error) {
        return "@LtRpcClient %s, method %s: %s".formatted(client.getName(), method.toGenericString(), error);
    }

    @Nullable
    Object invoke(@Nullable Object[] arguments) {
        Object request = requestIndex == NONE ? null : arguments[requestIndex];
        Object given = deadlineIndex == NONE ? null : arguments[deadlineIndex];
        Duration wait = given == null ? deadline : (Duration) given;
        if (node.isEmpty()) {
            return asynchronous
                    ? template.callAnyAsync(function, request, replyType, wait)
                    : template.callAny(function, request, replyType, wait);
        }
        return asynchronous
                ? template.callAsync(node, function, request, replyType, wait)
                : template.call(node, function, request, replyType, wait);
    }
}
