package dev.lite.boot;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcServer;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;

/**
 * Finds the methods with {@link LtRpcHandler}, and serves them while the context runs. As a post-processor it is created before the
 * beans it needs, so it resolves them only at start. Any thread.
 */
final class RpcHandlerRegistrar implements BeanPostProcessor, SmartLifecycle {

    private static final Log log = LogFactory.getLog(RpcHandlerRegistrar.class);

    private final ObjectProvider<LtRpc> rpc;
    private final ObjectProvider<RpcBodies> bodies;
    private final ObjectProvider<CallObserver> observers;

    @GuardedBy("this")
    private final List<Found> found = new ArrayList<>();

    @GuardedBy("this")
    private final List<RpcServer> servers = new ArrayList<>();

    @GuardedBy("this")
    private boolean running;

    /** Keeps the application running: all other threads of one that only serves functions are daemons. */
    @GuardedBy("this")
    private @Nullable Thread keepAlive;

    private record Found(Object bean, Method method, LtRpcHandler annotation) {}

    RpcHandlerRegistrar(
            ObjectProvider<LtRpc> rpc, ObjectProvider<RpcBodies> bodies, ObjectProvider<CallObserver> observers) {
        this.rpc = rpc;
        this.bodies = bodies;
        this.observers = observers;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        Map<Method, LtRpcHandler> methods = MethodIntrospector.selectMethods(
                AopUtils.getTargetClass(bean), (MethodIntrospector.MetadataLookup<LtRpcHandler>)
                        method -> AnnotatedElementUtils.findMergedAnnotation(method, LtRpcHandler.class));
        synchronized (this) {
            methods.forEach((method, annotation) ->
                    found.add(new Found(bean, AopUtils.selectInvocableMethod(method, bean.getClass()), annotation)));
        }
        return bean;
    }

    @Override
    public synchronized void start() {
        running = true;
        if (found.isEmpty()) {
            return;
        }
        LtRpc served = rpc.getObject();
        RpcBodies converters = bodies.getObject();
        CallObserver observer = observers.getIfAvailable(() -> CallObserver.NONE);
        try {
            for (Found one : found) {
                RpcHandlerMethod handler = new RpcHandlerMethod(one.bean(), one.method(), one.annotation(), converters);
                String function = handler.function();
                servers.add(served.register(
                        function, handler.concurrency(), call -> observer.handle(function, call, handler)));
            }
        } catch (RuntimeException e) {
            stop();
            throw e;
        }
        keepAlive = Thread.ofPlatform().daemon(false).name("lite-rpc-handlers").start(this::awaitStop);
    }

    /** The thread that keeps the application running; null if there are no handlers. */
    synchronized @Nullable Thread keepAlive() {
        return keepAlive;
    }

    private synchronized void awaitStop() {
        while (running) {
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
        notifyAll();
        servers.forEach(RpcHandlerRegistrar::close);
        servers.clear();
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
