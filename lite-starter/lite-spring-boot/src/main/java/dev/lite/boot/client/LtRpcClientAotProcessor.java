package dev.lite.boot.client;

import dev.lite.boot.RpcReflectionHints;
import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.config.ConstructorArgumentValues.ValueHolder;
import org.springframework.beans.factory.support.RegisteredBean;

/** Hints for a native image: the proxy of each client interface, its methods, and the types of its requests and replies. */
final class LtRpcClientAotProcessor implements BeanRegistrationAotProcessor {

    @Override
    public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
        ValueHolder argument =
                bean.getMergedBeanDefinition().getConstructorArgumentValues().getIndexedArgumentValue(0, Class.class);
        if (bean.getBeanClass() != LtRpcClientFactoryBean.class
                || argument == null
                || !(argument.getValue() instanceof Class<?> client)) {
            return null;
        }
        return (generation, code) -> register(client, generation.getRuntimeHints());
    }

    private static void register(Class<?> client, RuntimeHints hints) {
        hints.proxies().registerJdkProxy(client);
        hints.reflection().registerType(client, MemberCategory.INVOKE_PUBLIC_METHODS);
        for (Method method : client.getMethods()) {
            if (!method.isDefault()) {
                RpcReflectionHints.registerTypes(hints.reflection(), method, client);
                RpcReflectionHints.registerType(hints.reflection(), LtRpcClientMethod.replyType(client, method));
            }
        }
    }
}
