package dev.lite.boot.lock;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.boot.LiteClientProperties;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.TargetSource;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodClassKey;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.ConcurrentLruCache;

/**
 * Puts the beans whose methods have {@link LiteLock} behind proxies. As a post-processor it is created before the beans it needs, so
 * it resolves them only in a call. Any thread.
 */
final class LiteLockPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

    private static final long serialVersionUID = 1L;

    /** Names may depend on arguments. */
    private static final int LOCKS_MAX = 256;

    private static final Log log = LogFactory.getLog(LiteLockPostProcessor.class);

    private final transient ObjectProvider<Lite> session;
    private final transient ObjectProvider<LiteClientProperties> properties;
    private final transient Environment environment;

    /** As many as there are such methods in the application's classes. */
    private final transient Map<MethodClassKey, LockedMethod> methods = new ConcurrentHashMap<>();

    /** So that a method need not ask its node for the lock each time, without the method's own deadline. */
    private final transient ConcurrentLruCache<String, LtLock> locks;

    /** The classes of the beans with such methods that are being initialized, by the beans' names. */
    private final transient Map<String, Class<?>> initialized = new ConcurrentHashMap<>();

    private transient @Nullable ConfigurableListableBeanFactory beans;

    LiteLockPostProcessor(
            ObjectProvider<Lite> session,
            ObjectProvider<LtSync> sync,
            ObjectProvider<LiteClientProperties> properties,
            Environment environment) {
        this.session = session;
        this.properties = properties;
        this.environment = environment;
        this.locks =
                new ConcurrentLruCache<>(LOCKS_MAX, name -> sync.getObject().lock(name));
        this.advisor = new DefaultPointcutAdvisor(new Locked(), (MethodInterceptor) this::invoke);
        setBeforeExistingAdvisors(true); // a transaction ends before its lock does
        setProxyTargetClass(environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
    }

    @Override
    public void setBeanFactory(BeanFactory factory) {
        super.setBeanFactory(factory);
        if (factory instanceof ConfigurableListableBeanFactory listable) {
            beans = listable;
        }
    }

    /** Another post-processor may replace the bean before its turn comes here. */
    @Override
    public Object postProcessBeforeInitialization(Object bean, String name) {
        Class<?> type = typeOf(bean);
        if (!(bean instanceof FactoryBean) && isEligible(type)) { // what a factory makes has its name, too
            initialized.put(name, type);
        }
        return bean;
    }

    /** No injection shows that such a bean needs the locks: the context destroys them after it, and after those that use it. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        Class<?> original = initialized.remove(name);
        Class<?> type = original == null ? typeOf(bean) : original;
        Object processed = super.postProcessAfterInitialization(bean, name);
        if (bean instanceof AopInfrastructureBean
                || name.endsWith(AutowireCapableBeanFactory.ORIGINAL_INSTANCE_SUFFIX)
                || !isEligible(type)) {
            return processed;
        }
        if (!isLocked(processed)) {
            throw new IllegalStateException(
                    "@LiteLock of %s: the bean \"%s\" is behind the proxy %s, which hides the annotation, so a call would not acquire the lock; put it on the method of an interface, or make the proxy by Spring's ProxyFactory, one for all advice"
                            .formatted(type.getName(), name, bean.getClass().getName()));
        }
        ConfigurableListableBeanFactory its = beans;
        if (its != null) {
            for (String locks : its.getBeanNamesForType(LtSync.class, true, false)) {
                its.registerDependentBean(locks, name);
            }
        }
        return processed;
    }

    /** The class with the methods of a bean. A target source knows one, too, but its target is a bean of its own. */
    private static Class<?> typeOf(Object bean) {
        return bean instanceof TargetSource ? bean.getClass() : AopProxyUtils.ultimateTargetClass(bean);
    }

    /** A proxy of Spring hides the annotation if it is frozen, or around another one, and none of them has the lock. */
    private boolean isLocked(Object bean) {
        for (Object each = bean; each instanceof Advised proxy; each = AopProxyUtils.getSingletonTarget(each)) {
            if (advisor != null && proxy.indexOf(advisor) >= 0 && isEligible(AopUtils.getTargetClass(each))) {
                return true;
            }
        }
        return false;
    }

    /** The methods with the annotation. */
    private final class Locked extends StaticMethodMatcherPointcut {
        Locked() {
            setClassFilter(LiteLockPostProcessor.this::hasLocked);
        }

        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            return find(method, targetClass) != null;
        }
    }

    /** Checks all methods of a class when its first bean is created, so a method that cannot be locked fails the start. */
    private boolean hasLocked(Class<?> targetClass) {
        return AnnotationUtils.isCandidateClass(targetClass, LiteLock.class)
                && !MethodIntrospector.selectMethods(targetClass, (MethodIntrospector.MetadataLookup<LockedMethod>)
                                method -> find(method, targetClass))
                        .isEmpty();
    }

    private @Nullable LockedMethod find(Method method, @Nullable Class<?> targetClass) {
        Method declared = targetClass != null && Proxy.isProxyClass(targetClass)
                ? method // its own are final
                : AopUtils.getMostSpecificMethod(method, targetClass);
        LiteLock annotation = AnnotatedElementUtils.findMergedAnnotation(declared, LiteLock.class);
        return annotation == null
                ? null
                : methods.computeIfAbsent(
                        new MethodClassKey(declared, targetClass),
                        key -> LockedMethod.of(
                                declared,
                                targetClass == null ? declared.getDeclaringClass() : targetClass,
                                annotation,
                                environment));
    }

    private @Nullable Object invoke(MethodInvocation call) throws Throwable {
        Object target = call.getThis();
        LockedMethod locked = find(call.getMethod(), target == null ? null : target.getClass());
        if (locked == null) {
            return call.proceed();
        }
        String name = locked.nameIn(call);
        HeldLock outer = LiteLocks.find(name);
        if (outer != null) {
            return locked.requireDone(LiteLocks.run(outer, call::proceed));
        }
        HeldLock held = locks.get(name).acquire(deadline(locked));
        try {
            return locked.requireDone(LiteLocks.run(held, call::proceed));
        } finally {
            release(held);
        }
    }

    /** The method has run, so its caller gets what it returned or threw, and not an exception that says that there was no lock. */
    private static void release(HeldLock held) {
        try {
            held.close();
        } catch (LiteException e) {
            log.warn("Cannot release the lock %s; the end of the session releases it: %s"
                    .formatted(held.name(), e.getMessage()));
        }
    }

    private Duration deadline(LockedMethod locked) {
        Duration own = locked.deadline();
        return own == null ? properties.getObject().deadlineOf(session) : own;
    }
}
