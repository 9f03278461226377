package dev.lite.boot;

import dev.lite.api.LtRpc;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.core.env.Environment;

/** Without an {@link LtRpc}, methods with {@link LtRpcHandler} would not be served. */
final class MissingFunctionsPostProcessor extends MissingBeanPostProcessor {

    MissingFunctionsPostProcessor(ListableBeanFactory beans, Environment environment) {
        super(
                beans,
                environment,
                LtRpcHandler.class,
                LtRpc.class,
                new Lack("not be served", "are not served", "start without serving such methods"));
    }

    @Override
    protected boolean isExempt(Object bean) {
        return RpcHandlerRegistrar.isClient(bean);
    }
}
