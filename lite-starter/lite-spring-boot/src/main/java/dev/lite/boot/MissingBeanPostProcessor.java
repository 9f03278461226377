package dev.lite.boot;

import dev.lite.api.Lite;
import java.lang.annotation.Annotation;
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
 * Without a bean of LITE, methods with an annotation that needs it would lack what the annotation promises, and
 * nobody would notice. So the first bean with such a method fails the start. If LITE is switched off, or a test
 * replaces the bean, a warning says so instead. For LITE's own annotations. Any thread.
 */
public abstract class MissingBeanPostProcessor implements BeanPostProcessor {

    private static final String SWITCH = "lite.client.enabled";

    private final Log log = LogFactory.getLog(getClass());

    private final ListableBeanFactory beans;
    private final Environment environment;
    private final Class<? extends Annotation> annotation;
    private final Class<?> missing;
    private final Lack lack;

    /** Since beans of some scopes are created often. The references are soft: memory is the bound. */
    private final Set<Class<?>> checked = Collections.newSetFromMap(new ConcurrentReferenceHashMap<>());

    /**
     * What methods lack, for messages.
     *
     * @param one after "the method would"
     * @param all after "the methods"
     * @param accepted after "to", for someone who can do without
     */
    public record Lack(String one, String all, String accepted) {}

    /** Creates the post-processor of an annotation that needs a bean of the missing type. */
    protected MissingBeanPostProcessor(
            ListableBeanFactory beans,
            Environment environment,
            Class<? extends Annotation> annotation,
            Class<?> missing,
            Lack lack) {
        this.beans = beans;
        this.environment = environment;
        this.annotation = annotation;
        this.missing = missing;
        this.lack = lack;
    }

    /** Whether the annotation has no effect on this bean anyway. */
    protected boolean isExempt(Object bean) {
        return false;
    }

    /** Later, a proxy may hide the annotation. */
    @Override
    public final Object postProcessBeforeInitialization(Object bean, String name) {
        check(bean);
        return bean;
    }

    /** What a factory makes comes here only. */
    @Override
    public final Object postProcessAfterInitialization(Object bean, String name) {
        check(bean);
        return bean;
    }

    private void check(Object bean) {
        Class<?> type = bean instanceof TargetSource ? bean.getClass() : AopProxyUtils.ultimateTargetClass(bean);
        if (checked.contains(type) || isExempt(bean)) {
            return;
        }
        Method annotated = annotatedMethod(type);
        if (annotated != null) {
            boolean isLate = !names(missing).isEmpty();
            List<String> sessions = names(Lite.class);
            if (!isLate && (!sessions.isEmpty() || environment.getProperty(SWITCH, Boolean.class, true))) {
                throw new IllegalStateException("@%s of %s: there is no %s bean, so the method would %s; %s"
                        .formatted(
                                annotation.getSimpleName(),
                                annotated.toGenericString(),
                                missing.getSimpleName(),
                                lack.one(),
                                remedy(sessions)));
            }
            log.warn("The methods with @%s of %s %s, because %s"
                    .formatted(
                            annotation.getSimpleName(),
                            type.getName(),
                            lack.all(),
                            isLate
                                    ? "the %s bean was not there when LITE's auto-configuration was processed"
                                            .formatted(missing.getSimpleName())
                                    : SWITCH + " is false"));
        }
        checked.add(type);
    }

    private List<String> names(Class<?> type) {
        return List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false));
    }

    private String remedy(List<String> sessions) {
        return switch (sessions.size()) {
            case 0 -> "define a session, or set %s=false to %s".formatted(SWITCH, lack.accepted());
            case 1 ->
                "define one from the Lite bean \"%s\", or do not set %s=false".formatted(sessions.getFirst(), SWITCH);
            default ->
                "there are several Lite beans (%s): make one of them primary, or define an %s"
                        .formatted(String.join(", ", sessions), missing.getSimpleName());
        };
    }

    private @Nullable Method annotatedMethod(Class<?> type) {
        return MethodIntrospector.selectMethods(type, (MethodIntrospector.MetadataLookup<Annotation>)
                        method -> AnnotatedElementUtils.findMergedAnnotation(method, annotation))
                .keySet()
                .stream()
                .findFirst()
                .orElse(null);
    }
}
