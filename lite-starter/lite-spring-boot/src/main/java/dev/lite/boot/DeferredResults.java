package dev.lite.boot;

import java.lang.reflect.Method;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** Results whose work happens after the method that returned them. The starter refuses them where they cannot work. */
public final class DeferredResults {

    /** What Spring MVC completes after a method has returned it. Spring MVC need not be on the class path. */
    private static final Set<String> LATER_IN_MVC = Set.of(
            "org.springframework.web.context.request.async.DeferredResult",
            "org.springframework.web.context.request.async.WebAsyncTask",
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
            "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

    /** The parent of {@code ResponseEntity}, around a body. */
    private static final String ENTITY = "org.springframework.http.HttpEntity";

    /** Of the results at run time: asking Spring's registry takes longer than a call. */
    private static final ClassValue<Boolean> IS_DEFERRED = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return isDeferred(type);
        }
    };

    /** The getter of the body, for entities. */
    private static final ClassValue<Optional<Method>> BODY = new ClassValue<>() {
        @Override
        protected Optional<Method> computeValue(Class<?> type) {
            return superclasses(type)
                    .filter(each -> each.getName().equals(ENTITY))
                    .findFirst()
                    .map(entity -> ClassUtils.getMethodIfAvailable(entity, "getBody"));
        }
    };

    private DeferredResults() {}

    /**
     * Describes the deferred result that a method returns, also as the body of a {@code ResponseEntity}.
     *
     * @return the type's name; null if the type does not show that the result is deferred
     */
    public static @Nullable String describe(ResolvableType returned) {
        Class<?> type = returned.resolve();
        if (type == null) {
            return null;
        }
        if (isDeferred(type)) {
            return type.getName();
        }
        String body = describe(bodyOf(returned));
        return body == null ? null : "%s<%s>".formatted(type.getName(), body);
    }

    /**
     * Describes a deferred result that a method has returned, also as the body of a {@code ResponseEntity}:
     * the method's type may not have shown it, such as {@code Object} or {@code ResponseEntity<?>}.
     *
     * @return the type's name; null if the result is not deferred
     */
    public static @Nullable String describeResult(@Nullable Object result) {
        if (result == null) {
            return null;
        }
        Class<?> type = result.getClass();
        if (IS_DEFERRED.get(type)) {
            return type.getName();
        }
        Method ofBody = BODY.get(type).orElse(null);
        String body = ofBody == null ? null : describeResult(ReflectionUtils.invokeMethod(ofBody, result));
        return body == null ? null : "%s<%s>".formatted(type.getName(), body);
    }

    private static ResolvableType bodyOf(ResolvableType entity) {
        ResolvableType type = entity;
        Class<?> its = type.resolve();
        while (its != null && !its.getName().equals(ENTITY)) {
            type = type.getSuperType();
            its = type.resolve();
        }
        return type.getGeneric();
    }

    private static boolean isDeferred(Class<?> type) {
        return Future.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || Callable.class.isAssignableFrom(type)
                || isLaterInMvc(type)
                || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
    }

    private static boolean isLaterInMvc(Class<?> returned) {
        return Stream.concat(superclasses(returned), ClassUtils.getAllInterfacesForClassAsSet(returned).stream())
                .anyMatch(type -> LATER_IN_MVC.contains(type.getName()));
    }

    /** The class itself, too. */
    private static Stream<Class<?>> superclasses(Class<?> type) {
        return Stream.iterate(type, Objects::nonNull, Class::getSuperclass);
    }
}
