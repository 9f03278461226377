package dev.lite.boot;

import java.util.Objects;
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
        return Stream.concat(
                        Stream.<Class<?>>iterate(returned, Objects::nonNull, Class::getSuperclass),
                        ClassUtils.getAllInterfacesForClassAsSet(returned).stream())
                .anyMatch(type -> LATER_IN_MVC.contains(type.getName()));
    }
}
