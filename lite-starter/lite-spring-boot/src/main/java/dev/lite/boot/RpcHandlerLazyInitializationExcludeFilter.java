package dev.lite.boot;

import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.LazyInitializationExcludeFilter;

/** Beans with handlers are created at the start also with {@code spring.main.lazy-initialization}: nobody else asks for them. */
final class RpcHandlerLazyInitializationExcludeFilter implements LazyInitializationExcludeFilter {

    @Override
    public boolean isExcluded(String name, BeanDefinition definition, Class<?> type) {
        return RpcHandlerRegistrar.mayHaveHandlers(type);
    }
}
