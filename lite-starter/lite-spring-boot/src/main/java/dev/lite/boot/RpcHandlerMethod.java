package dev.lite.boot;

import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcHandlerException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.GenericTypeResolver;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.util.ReflectionUtils;

/** Calls a method with {@link LtRpcHandler} as a handler. */
final class RpcHandlerMethod implements RpcHandler {
    /** A parameter of suspend functions of Kotlin, which need not be on the class path. */
    private static final String CONTINUATION = "kotlin.coroutines.Continuation";

    private static final Log log = LogFactory.getLog(RpcHandlerMethod.class);

    private static final long LOG_PAUSE_NS = TimeUnit.SECONDS.toNanos(1);

    /** Control characters, and what else ends a line. */
    private static final Pattern CONTROLS = Pattern.compile("[\\p{Cc}\\u2028\\u2029]");

    private final AtomicLong nextLogNs = new AtomicLong(System.nanoTime());

    private final Object bean;
    private final Method method;
    private final LtRpcHandler annotation;
    private final RpcBodies bodies;
    /** Of the parameters; the type variables of a generic class or interface are replaced by what the bean's class has for them. */
    private final Type[] types;

    /**
     * Checks the method.
     *
     * @throws IllegalStateException when it cannot be a handler
     */
    RpcHandlerMethod(Object bean, Method method, LtRpcHandler annotation, RpcBodies bodies) {
        this.bean = bean;
        this.method = method;
        this.annotation = annotation;
        this.bodies = bodies;
        Class<?> beanType = AopProxyUtils.ultimateTargetClass(bean);
        types = Arrays.stream(method.getGenericParameterTypes())
                .map(type -> GenericTypeResolver.resolveType(type, beanType))
                .toArray(Type[]::new);
        check(
                Arrays.stream(method.getParameterTypes())
                        .noneMatch(type -> type.getName().equals(CONTINUATION)),
                "it is a suspend function, and its caller would have the reply at its first suspension");
        int requests = 0;
        for (Type type : types) {
            if (type != RpcCall.class) {
                requests++;
                check(bodies.supports(type), "Jackson is missing for its parameter");
            }
        }
        check(requests <= 1 && types.length <= requests + 1, "it has more parameters than a request and an RpcCall");
        String deferred = DeferredResults.describe(ResolvableType.forMethodReturnType(method, beanType));
        check(deferred == null, "it returns %s; a handler may block, and returns the reply itself".formatted(deferred));
        check(!isAsync(), "it is @Async, and its caller would have the reply before its body has run");
        check(
                bodies.supports(GenericTypeResolver.resolveType(method.getGenericReturnType(), beanType)),
                "Jackson is missing for its return type");
        check(
                !AopUtils.isCglibProxy(bean) || !Modifier.isFinal(method.getModifiers()),
                "it is final, so the proxy of its bean cannot pass a call on to the bean");
        check(annotation.concurrency() >= 1, "its concurrency is " + annotation.concurrency() + ", less than 1");
        check(
                annotation.concurrency() <= LtRpc.CONCURRENCY_MAX,
                "its concurrency is %d, more than %d".formatted(annotation.concurrency(), LtRpc.CONCURRENCY_MAX));
        ReflectionUtils.makeAccessible(method);
    }

    private boolean isAsync() {
        Class<?> type = AopProxyUtils.ultimateTargetClass(bean);
        return AnnotatedElementUtils.hasAnnotation(AopUtils.getMostSpecificMethod(method, type), Async.class)
                || AnnotatedElementUtils.hasAnnotation(type, Async.class);
    }

    private void check(boolean condition, String error) {
        if (!condition) {
            throw new IllegalStateException(
                    "@LtRpcHandler(\"%s\") %s: %s".formatted(annotation.value(), method, error));
        }
    }

    int concurrency() {
        return annotation.concurrency();
    }

    private @Nullable Object request(RpcCall call, Type type) {
        byte[] bytes = call.request().toArray(ValueLayout.JAVA_BYTE);
        try {
            return bodies.decode(bytes, type);
        } catch (IllegalArgumentException e) { // the caller's mistake, without the names of classes
            warn(call, e);
            throw new RpcHandlerException(
                    0,
                    "the request of %d bytes cannot be converted for the handler; the log of its application has the cause"
                            .formatted(bytes.length),
                    e);
        }
    }

    /** In one line, at most once a second: the caller chooses the text and the number of its requests. */
    private void warn(RpcCall call, IllegalArgumentException failure) {
        long next = nextLogNs.get();
        long now = System.nanoTime();
        if (now - next >= 0 && nextLogNs.compareAndSet(next, now + LOG_PAUSE_NS)) {
            log.warn("@LtRpcHandler(\"%s\") %s: cannot convert a request of \"%s\" at %s: %s"
                    .formatted(
                            annotation.value(),
                            method,
                            call.callerPrincipal(),
                            call.callerNode(),
                            CONTROLS.matcher(String.valueOf(failure.getMessage()))
                                    .replaceAll(" ")));
        }
    }

    @Override
    public MemorySegment handle(RpcCall call) {
        @Nullable Object[] arguments = new @Nullable Object[types.length];
        for (int index = 0; index < arguments.length; index++) {
            arguments[index] = types[index] == RpcCall.class ? call : request(call, types[index]);
        }
        try {
            Object reply = method.invoke(bean, arguments);
            String deferred = DeferredResults.describeResult(reply);
            if (deferred != null) { // a message for each call would cost more than the check
                check(false, "it returned %s; a handler may block, and returns the reply itself".formatted(deferred));
            }
            return MemorySegment.ofArray(bodies.encode(reply));
        } catch (InvocationTargetException e) {
            Throwable cause = e.getCause();
            if (cause instanceof RuntimeException failure) {
                throw failure;
            }
            if (cause instanceof Error error) {
                throw error;
            }
            throw new IllegalStateException("%s failed".formatted(method), cause);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("cannot call " + method, e);
        }
    }
}
