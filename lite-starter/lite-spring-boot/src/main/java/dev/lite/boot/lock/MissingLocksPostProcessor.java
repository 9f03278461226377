package dev.lite.boot.lock;

import dev.lite.api.LtSync;
import dev.lite.boot.MissingBeanPostProcessor;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.core.env.Environment;

/** Without an {@link LtSync}, methods with {@link LiteLock} would run without their locks. */
final class MissingLocksPostProcessor extends MissingBeanPostProcessor {

    MissingLocksPostProcessor(ListableBeanFactory beans, Environment environment) {
        super(
                beans,
                environment,
                LiteLock.class,
                LtSync.class,
                new Lack("run without its lock", "run without their locks", "run such methods without their locks"));
    }
}
