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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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

    private static final int ALL_CALLS = Integer.MAX_VALUE;

    /** How long the end of a call is waited for. The context itself waits for less: {@code spring.lifecycle.timeout-per-shutdown-phase}. */
    private static final long LAST_CALL_HOURS = 1;

    private final ObjectProvider<LtRpc> rpc;
    private final ObjectProvider<RpcBodies> bodies;
    private final ObjectProvider<CallObserver> observers;

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
        Semaphore sinceNow = new Semaphore(ALL_CALLS);
        calls = sinceNow;
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
                RpcHandler observed = call -> observer.handle(function, call, handler);
                servers.add(served.register(
                        function, handler.concurrency(), call -> handle(sinceNow, function, call, observed)));
            }
        } catch (RuntimeException e) {
            stop();
            throw e;
        }
        keepAlive = Thread.ofPlatform().daemon(false).name("lite-rpc-handlers").start(this::awaitStop);
    }

    private static MemorySegment handle(Semaphore calls, String function, RpcCall call, RpcHandler handler) {
        if (!calls.tryAcquire()) {
            throw new RpcHandlerException("the application that serves \"%s\" ends".formatted(function));
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
