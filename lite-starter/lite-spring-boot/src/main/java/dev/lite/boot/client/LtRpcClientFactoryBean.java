package dev.lite.boot.client;

import dev.lite.boot.LtRpcTemplate;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.core.env.Environment;

/** Makes the bean of a client interface. It checks the interface when it is created itself, which is at the start of the context. */
final class LtRpcClientFactoryBean<T> implements FactoryBean<T> {

    private final Class<T> type;
    private final T client;

    /**
     * Checks the interface and makes its proxy.
     *
     * @throws IllegalStateException when it cannot be a client
     */
    LtRpcClientFactoryBean(Class<T> type, LtRpcTemplate template, Environment environment) {
        this.type = type;
        client = LtRpcClientProxy.create(type, template, environment);
    }

    @Override
    public T getObject() {
        return client;
    }

    @Override
    public Class<T> getObjectType() {
        return type;
    }
}
