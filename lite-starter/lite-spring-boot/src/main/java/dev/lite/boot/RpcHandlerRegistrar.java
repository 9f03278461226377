package dev.lite.boot;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcHandlerException;
import dev.lite.api.RpcServer;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.TargetClassAware;
import org.springframework.aop.TargetSource;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.SmartInstantiationAwareBeanPostProcessor;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.ConcurrentReferenceHashMap;

/**
 * Finds the methods with {@link LtRpcHandler}, and serves them while the context runs. As a post-processor it is created before the
 * beans it needs, so it resolves them only at start. Any thread; none resolves beans while it holds the lock, since another may create
 * one and wait for it.
 */
final class RpcHandlerRegistrar
        implements SmartInstantiationAwareBeanPostProcessor, SmartInitializingSingleton, SmartLifecycle {

    private static final Log log = LogFactory.getLog(RpcHandlerRegistrar.class);

    private static final int ALL_CALLS = Integer.MAX_VALUE;

    /** A class of a package that depends on this one. */
    private static final String CLIENT = "dev.lite.boot.client.LtRpcClientProxy";

    /** How long the end of a call is waited for. The context itself waits for less: {@code spring.lifecycle.timeout-per-shutdown-phase}. */
    private static final long LAST_CALL_HOURS = 1;

    private final ConfigurableListableBeanFactory factory;
    private final Environment environment;
    private final ObjectProvider<LtRpc> rpc;
    private final ObjectProvider<RpcBodies> bodies;
    private final ObjectProvider<CallObserver> observers;

    /** Classes that have none, since beans of some scopes are created often. Their references are soft: memory is the bound. */
    private final Set<Class<?>> withoutHandlers = Collections.newSetFromMap(new ConcurrentReferenceHashMap<>());

    /** The classes of the beans with handlers that are being initialized, by the beans' names. */
    private final Map<String, Class<?>> initialized = new ConcurrentHashMap<>();

    /** Of beans that need each other: the proxies that others got before the bean was initialized, by its name. */
    private final Map<String, Object> early = new ConcurrentHashMap<>();

    @GuardedBy("this")
    private final List<Found> found = new ArrayList<>();

    @GuardedBy("this")
    private final List<RpcServer> servers = new ArrayList<>();

    /** Since the last start, a permit for each call. A stop takes those of the calls under way as they end, and then none begins. */
    @GuardedBy("this")
    private Semaphore calls = new Semaphore(ALL_CALLS);

    @GuardedBy("this")
    private boolean running;

    /** Keeps the application running: all other threads of one that only serves functions are daemons. */
    @GuardedBy("this")
    private @Nullable Thread keepAlive;

    /** @param function the annotation's name without placeholders */
    private record Found(Object bean, Method method, LtRpcHandler annotation, String function) {}

    /** What serving needs. */
    private record Service(LtRpc rpc, RpcBodies bodies, CallObserver observer) {}

    RpcHandlerRegistrar(
            ConfigurableListableBeanFactory factory,
            Environment environment,
            ObjectProvider<LtRpc> rpc,
            ObjectProvider<RpcBodies> bodies,
            ObjectProvider<CallObserver> observers) {
        this.factory = factory;
        this.environment = environment;
        this.rpc = rpc;
        this.bodies = bodies;
        this.observers = observers;
    }

    /** The methods of a class that are handlers. */
    static Map<Method, LtRpcHandler> handlerMethods(Class<?> type) {
        return MethodIntrospector.selectMethods(type, (MethodIntrospector.MetadataLookup<LtRpcHandler>)
                method -> AnnotatedElementUtils.findMergedAnnotation(method, LtRpcHandler.class));
    }

    /** The interface of a client may have its server's annotations. The client would serve, and call itself. */
    static boolean isClient(Object bean) {
        return Proxy.isProxyClass(bean.getClass())
                && Proxy.getInvocationHandler(bean).getClass().getName().equals(CLIENT);
    }

    /** The class with the handlers of a bean. A target source knows one, too, but its target is a bean of its own. */
    private static Class<?> typeOf(Object bean) {
        return bean instanceof FactoryBean || bean instanceof TargetSource
                ? bean.getClass()
                : AopProxyUtils.ultimateTargetClass(bean);
    }

    /** Creates the products of factories that have handlers: perhaps nobody else asks for them. */
    @Override
    public void afterSingletonsInstantiated() {
        for (String name : factory.getBeanNamesForType(FactoryBean.class, false, false)) {
            String made = BeanFactoryUtils.transformedBeanName(name);
            if (isLazy(made) || !factory.isSingleton(made)) {
                continue;
            }
            Class<?> type = factory.getBean(name) instanceof TargetClassAware proxies
                    ? proxies.getTargetClass()
                    : factory.getType(made);
            if (type != null && mayHaveHandlers(type)) {
                Object unused = factory.getBean(made);
            }
        }
        requireSingletons();
    }

    /** A bean of another scope may never be created: nobody would notice that its functions are not served. */
    private void requireSingletons() {
        for (String name : factory.getBeanDefinitionNames()) {
            BeanDefinition definition = factory.getMergedBeanDefinition(name);
            Class<?> type = definition.isAbstract() || definition.isSingleton() ? null : factory.getType(name, false);
            if (type != null && mayHaveHandlers(type)) {
                handlerMethods(type).forEach((method, annotation) -> requireSingleton(name, method, annotation));
            }
        }
    }

    /** Not if the methods of a class cannot be known: such a bean may never be created. */
    static boolean mayHaveHandlers(Class<?> type) {
        try {
            return !handlerMethods(type).isEmpty();
        } catch (IllegalStateException | LinkageError e) { // a class that it refers to is missing
            log.debug("The methods of " + type.getName() + " are not known", e);
            return false;
        }
    }

    private boolean isLazy(String name) {
        return factory.containsBeanDefinition(name)
                && factory.getMergedBeanDefinition(name).isLazyInit();
    }

    /** Another post-processor may replace the bean before its turn comes here. */
    @Override
    public Object postProcessBeforeInitialization(Object bean, String name) {
        Class<?> type = typeOf(bean);
        if (!(bean instanceof FactoryBean)
                && !isClient(bean)
                && !withoutHandlers.contains(type)) { // what a factory makes has its name, too
            if (handlerMethods(type).isEmpty()) {
                withoutHandlers.add(type);
            } else {
                initialized.put(name, type);
            }
        }
        return bean;
    }

    /** The proxies are made here then, and not when the bean is initialized. */
    @Override
    public Object getEarlyBeanReference(Object proxy, String name) {
        early.put(name, proxy);
        return proxy;
    }

    /** A bean that is created while the context runs is served at once. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (isClient(bean)) {
            return bean;
        }
        Object proxy = early.remove(name);
        Object served = proxy != null && isAround(proxy, bean) ? proxy : bean;
        Class<?> type = typeOf(bean);
        Class<?> original = initialized.remove(name);
        Map<Method, LtRpcHandler> methods = withoutHandlers.contains(type) ? Map.of() : handlerMethods(type);
        if (original != null && original != type) {
            requireVisible(original, methods.values(), bean, name);
        }
        List<Found> handlers = new ArrayList<>();
        methods.forEach((method, annotation) -> {
            requireSingleton(name, method, annotation);
            handlers.add(new Found(
                    served,
                    AopUtils.selectInvocableMethod(method, served.getClass()),
                    annotation,
                    function(method, annotation)));
        });
        if (handlers.isEmpty()) {
            withoutHandlers.add(type);
        } else if (!factory.containsBeanDefinition(
                ScopedProxyUtils.getTargetBeanName(name))) { // else the target is served
            Service service = null;
            while (!add(handlers, service)) {
                service = service();
            }
        }
        return bean;
    }

    /** It is not if an earlier creation of the bean failed. */
    private static boolean isAround(Object proxy, Object bean) {
        Object each = proxy;
        while (each != null && each != bean) {
            each = AopProxyUtils.getSingletonTarget(each);
        }
        return each != null;
    }

    /** Else nobody would notice that a function is not served. */
    private static void requireVisible(Class<?> original, Collection<LtRpcHandler> visible, Object bean, String name) {
        handlerMethods(original).forEach((method, annotation) -> {
            if (visible.stream().noneMatch(other -> other.value().equals(annotation.value()))) {
                throw new IllegalStateException(
                        "@LtRpcHandler(\"%s\") %s: the bean \"%s\" is behind the proxy %s, which hides the annotation, so the function would not be served; put it on the method of an interface, or make the proxy by Spring's ProxyFactory"
                                .formatted(
                                        annotation.value(),
                                        method,
                                        name,
                                        bean.getClass().getName()));
            }
        });
    }

    private String function(Method method, LtRpcHandler annotation) {
        try {
            String function = environment.resolveRequiredPlaceholders(annotation.value());
            LtRpc.checkName(function);
            return function;
        } catch (LiteException | IllegalArgumentException e) {
            throw new IllegalStateException(
                    "@LtRpcHandler(\"%s\") %s: %s".formatted(annotation.value(), method, e.getMessage()), e);
        }
    }

    /** Else each call would go to any of them. */
    @GuardedBy("this")
    private void requireUnambiguous(List<Found> handlers) {
        Map<String, Found> byFunction = new HashMap<>();
        Stream.concat(found.stream(), handlers.stream()).forEach(one -> {
            Found other = byFunction.putIfAbsent(one.function(), one);
            if (other != null && !other.method().equals(one.method())) {
                throw new IllegalStateException(
                        "@LtRpcHandler(\"%s\") %s: %s serves the function, too; each call would go to any of them"
                                .formatted(one.annotation().value(), one.method(), other.method()));
            }
        });
    }

    /** Nobody says when the time of another bean ends. */
    private void requireSingleton(String name, Method method, LtRpcHandler annotation) {
        String target = ScopedProxyUtils.getTargetBeanName(name);
        String its = factory.containsBeanDefinition(target) ? target : name;
        if (!factory.containsBean(its) || !factory.isSingleton(its)) {
            String scope = factory.containsBeanDefinition(its)
                    ? "has the scope \"%s\""
                            .formatted(factory.getMergedBeanDefinition(its).getScope())
                    : "is not defined in the context";
            throw new IllegalStateException("@LtRpcHandler(\"%s\") %s: the bean \"%s\" %s; it must be a singleton"
                    .formatted(annotation.value(), method, name, scope));
        }
    }

    private Service service() {
        return new Service(rpc.getObject(), bodies.getObject(), observers.getIfAvailable(() -> CallObserver.NONE));
    }

    /** Returns false if they are to be served now, and the service is missing. */
    private synchronized boolean add(List<Found> handlers, @Nullable Service service) {
        requireUnambiguous(handlers);
        if (running) {
            if (service == null) {
                return false;
            }
            serve(handlers, service);
        }
        found.addAll(handlers);
        return true;
    }

    @Override
    public void start() {
        Service service = null;
        while (!start(service)) {
            service = service();
        }
    }

    /** Returns false if there are handlers, and the service is missing. */
    private synchronized boolean start(@Nullable Service service) {
        if (service == null && !found.isEmpty()) {
            return false;
        }
        running = true;
        calls = new Semaphore(ALL_CALLS);
        if (service != null) {
            try {
                serve(found, service);
            } catch (RuntimeException | Error e) {
                stop();
                throw e;
            }
        }
        return true;
    }

    /** Serves all of them, or none. */
    @GuardedBy("this")
    private void serve(List<Found> handlers, Service service) {
        Semaphore sinceNow = calls;
        List<RpcServer> begun = new ArrayList<>();
        try {
            for (Found one : handlers) {
                RpcHandlerMethod handler =
                        new RpcHandlerMethod(one.bean(), one.method(), one.annotation(), service.bodies());
                String function = one.function();
                RpcHandler observed = call -> service.observer().handle(function, call, handler);
                RpcServer server = service.rpc()
                        .register(function, handler.concurrency(), call -> handle(sinceNow, function, call, observed));
                if (server != null) { // a mock returns null
                    begun.add(server);
                }
            }
        } catch (RuntimeException | Error e) { // an Error: a class of a handler's parameter is missing
            closeAll(begun);
            throw e;
        }
        servers.addAll(begun);
        if (keepAlive == null) {
            keepAlive =
                    Thread.ofPlatform().daemon(false).name("lite-rpc-handlers").start(this::awaitStop);
        }
    }

    private static MemorySegment handle(Semaphore calls, String function, RpcCall call, RpcHandler handler) {
        if (!calls.tryAcquire()) {
            String message = "the application that serves \"%s\" ends".formatted(function);
            call.decline(message); // another node may serve it
            throw new RpcHandlerException(message);
        }
        try {
            return handler.handle(call);
        } finally {
            calls.release();
        }
    }

    /** The thread that keeps the application running; null if there are no handlers. */
    synchronized @Nullable Thread keepAlive() {
        return keepAlive;
    }

    private synchronized void awaitStop() {
        while (Thread.currentThread() == keepAlive) { // after a restart it is another one
            try {
                wait();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    @Override
    public synchronized void stop() {
        running = false;
        keepAlive = null;
        notifyAll();
        closeAll(servers);
        servers.clear();
    }

    /** At the same time: if the node hangs, each waits for the session's deadline. */
    private static void closeAll(List<RpcServer> servers) {
        try (ExecutorService closing = Executors.newThreadPerTaskExecutor(
                Thread.ofVirtual().name("lite-rpc-stop").factory())) {
            servers.forEach(server -> closing.execute(() -> close(server)));
        }
    }

    /** Closes the functions. The beans of the handlers are destroyed after the callback: when the calls under way have ended. */
    @Override
    public void stop(Runnable callback) {
        stop();
        Semaphore ending;
        synchronized (this) {
            ending = calls;
        }
        if (ending.tryAcquire(ALL_CALLS)) {
            callback.run();
            return;
        }
        Thread unused = Thread.ofVirtual().name("lite-rpc-stop").start(() -> {
            try {
                if (!ending.tryAcquire(ALL_CALLS, LAST_CALL_HOURS, TimeUnit.HOURS)) {
                    log.warn("A call has not ended within an hour");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                callback.run();
            }
        });
    }

    /** One that fails must not keep the others served, whose beans are destroyed next. */
    private static void close(RpcServer server) {
        try {
            server.close();
        } catch (LiteException e) {
            log.warn("Cannot close the function %s; it ends with the session: %s"
                    .formatted(server.function(), e.getMessage()));
        }
    }

    @Override
    public synchronized boolean isRunning() {
        return running;
    }
}
