package dev.lite.boot;

import dev.lite.api.RpcCall;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.Set;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.annotation.ReflectiveProcessor;
import org.springframework.core.GenericTypeResolver;

/** Hints for a native image: a method with {@link LtRpcHandler}, and the types of its request and reply, which Jackson reads. */
public final class RpcReflectionHints implements ReflectiveProcessor {

    private static final Set<Type> NOT_CONVERTED = Set.of(
            void.class, Void.class, byte[].class, String.class, MemorySegment.class, RpcCall.class, Duration.class);

    /** Needed by {@link org.springframework.aot.hint.annotation.Reflective}. */
    public RpcReflectionHints() {}

    @Override
    public void registerReflectionHints(ReflectionHints hints, AnnotatedElement element) {
        if (element instanceof Method method) {
            hints.registerMethod(method, ExecutableMode.INVOKE);
            registerTypes(hints, method, method.getDeclaringClass());
            registerType(hints, method.getGenericReturnType());
        }
    }

    /**
     * Registers the types of a method's parameters.
     *
     * @param type the class or interface that has the method; it replaces the type variables of a generic parent
     */
    public static void registerTypes(ReflectionHints hints, Method method, Class<?> type) {
        for (Type parameter : method.getGenericParameterTypes()) {
            registerType(hints, GenericTypeResolver.resolveType(parameter, type));
        }
    }

    /** Registers the type of a request or reply. */
    public static void registerType(ReflectionHints hints, Type type) {
        if (!NOT_CONVERTED.contains(type)) {
            new BindingReflectionHintsRegistrar().registerReflectionHints(hints, type);
        }
    }
}
