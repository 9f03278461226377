package dev.lite.boot;

import java.lang.reflect.Method;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.GenericTypeResolver;
import org.springframework.util.ClassUtils;

/**
 * Hints for a native image: the types of requests and replies that a bean has for the type variables of a generic parent with handlers.
 * {@link RpcReflectionHints} does not know the bean.
 */
final class RpcHandlerAotProcessor implements BeanRegistrationAotProcessor {

    @Override
    public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
        Class<?> type = ClassUtils.getUserClass(bean.getBeanClass());
        Set<Method> methods = RpcHandlerRegistrar.handlerMethods(type).keySet();
        return methods.isEmpty()
                ? null
                : (generation, code) -> {
                    ReflectionHints hints = generation.getRuntimeHints().reflection();
                    for (Method method : methods) {
                        RpcReflectionHints.registerTypes(hints, method, type);
                        RpcReflectionHints.registerType(
                                hints, GenericTypeResolver.resolveType(method.getGenericReturnType(), type));
                    }
                };
    }
}
