package dev.lite.boot.lock;

import dev.lite.api.Lite;
import dev.lite.api.LtSync;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.TargetSource;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.ConcurrentReferenceHashMap;

/**
 * Without an {@link LtSync}, methods with {@link LiteLock} would run without their locks, and nobody would
 * notice. So the first bean with such a method fails the start. If LITE is switched off, or a test replaces
 * the {@link LtSync}, a warning says so instead. Any thread.
 */
final class MissingLocksPostProcessor implements BeanPostProcessor {

    private static final String SWITCH = "lite.client.enabled";

    private static final Log log = LogFactory.getLog(MissingLocksPostProcessor.class);

    private final ListableBeanFactory beans;
    private final Environment environment;

    /** Since beans of some scopes are created often. The references are soft: memory is the bound. */
    private final Set<Class<?>> checked = Collections.newSetFromMap(new ConcurrentReferenceHashMap<>());

    MissingLocksPostProcessor(ListableBeanFactory beans, Environment environment) {
        this.beans = beans;
        this.environment = environment;
    }

    /** Later, a proxy may hide the annotation. */
    @Override
    public Object postProcessBeforeInitialization(Object bean, String name) {
        check(bean);
        return bean;
    }

    /** What a factory makes comes here only. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        check(bean);
        return bean;
    }

    private void check(Object bean) {
        Class<?> type = bean instanceof TargetSource ? bean.getClass() : AopProxyUtils.ultimateTargetClass(bean);
        if (checked.contains(type)) {
            return;
        }
        Method locked = lockedMethod(type);
        if (locked != null) {
            boolean isLate = !names(LtSync.class).isEmpty();
            List<String> sessions = names(Lite.class);
            if (!isLate && (!sessions.isEmpty() || environment.getProperty(SWITCH, Boolean.class, true))) {
                throw new IllegalStateException(
                        "@LiteLock of %s: there is no LtSync bean, so the method would run without its lock; %s"
                                .formatted(locked.toGenericString(), remedy(sessions)));
            }
            log.warn("The methods with @LiteLock of %s run without their locks, because %s"
                    .formatted(
                            type.getName(),
                            isLate
                                    ? "the LtSync bean was not there when LITE's auto-configuration was processed"
                                    : SWITCH + " is false"));
        }
        checked.add(type);
    }

    private List<String> names(Class<?> type) {
        return List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false));
    }

    private static String remedy(List<String> sessions) {
        return switch (sessions.size()) {
            case 0 -> "define a session, or set %s=false to run such methods without their locks".formatted(SWITCH);
            case 1 ->
                "define one from the Lite bean \"%s\", or do not set %s=false".formatted(sessions.getFirst(), SWITCH);
            default ->
                "there are several Lite beans (%s): make one of them primary, or define an LtSync"
                        .formatted(String.join(", ", sessions));
        };
    }

    private static @Nullable Method lockedMethod(Class<?> type) {
        return MethodIntrospector.selectMethods(type, (MethodIntrospector.MetadataLookup<LiteLock>)
                        method -> AnnotatedElementUtils.findMergedAnnotation(method, LiteLock.class))
                .keySet()
                .stream()
                .findFirst()
                .orElse(null);
    }
}
