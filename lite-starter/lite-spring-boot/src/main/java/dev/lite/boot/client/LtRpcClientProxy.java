package dev.lite.boot.client;

import dev.lite.boot.LtRpcTemplate;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.ReflectionUtils;

/** The object behind a client interface. Immutable; any thread. */
final class LtRpcClientProxy implements InvocationHandler {

    private final Class<?> type;
    private final Map<Method, LtRpcClientMethod> calls = new HashMap<>();
    private final Map<Method, MethodHandle> defaults = new HashMap<>();

    private LtRpcClientProxy(Class<?> type, LtRpcTemplate template, Environment environment) {
        this.type = type;
        LtRpcClient annotation = AnnotatedElementUtils.findMergedAnnotation(type, LtRpcClient.class);
        if (annotation == null || !type.isInterface()) {
            throw new IllegalStateException("%s is not an interface with @LtRpcClient".formatted(type.getName()));
        }
        ClientSettings settings = ClientSettings.of(type, annotation, template.deadline(), environment);
        for (Method method : type.getMethods()) {
            if (method.isDefault()) {
                defaults.put(method, special(method));
            } else if (!Modifier.isStatic(method.getModifiers())) {
                calls.put(method, LtRpcClientMethod.of(method, settings, template));
            }
        }
    }

    /**
     * Makes the object.
     *
     * @throws IllegalStateException when a method cannot be a call, or a placeholder has no value; the message says which
     */
    static <T> T create(Class<T> type, LtRpcTemplate template, Environment environment) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, new LtRpcClientProxy(type, template, environment)));
    }

    /** The method itself, not what the proxy overrides it with. With the interface's own rights, as it may not be public. */
    private static MethodHandle special(Method method) {
        Class<?> declaring = method.getDeclaringClass();
        try {
            return MethodHandles.privateLookupIn(declaring, MethodHandles.lookup())
                    .unreflectSpecial(method, declaring);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("cannot call the default method " + method, e);
        }
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        @Nullable Object[] given = arguments == null ? new @Nullable Object[0] : arguments;
        LtRpcClientMethod call = calls.get(method);
        if (call != null) {
            return call.invoke(given);
        }
        MethodHandle handle = defaults.get(method);
        if (handle != null) {
            return handle.bindTo(proxy).invokeWithArguments(given);
        }
        if (ReflectionUtils.isEqualsMethod(method)) {
            return proxy == given[0];
        }
        return ReflectionUtils.isHashCodeMethod(method)
                ? System.identityHashCode(proxy)
                : "@LtRpcClient " + type.getName();
    }
}
