package dev.lite.client.fake;

import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A handle of a {@link FakeLite}. It counts its calls, and ends with its session. */
public final class FakeHandle {
    public static final long SIZE = 64;

    public final AtomicInteger calls = new AtomicInteger();
    public final AtomicInteger unmaps = new AtomicInteger();
    /** What the next calls throw, one each. */
    public final Queue<RuntimeException> failures = new ConcurrentLinkedQueue<>();

    /** Runs at the beginning of each call. */
    public volatile Runnable whenCalled = () -> {};

    /** Runs before a view of another priority is made. */
    public volatile Runnable whenPrioritized = () -> {};

    /** Runs before an unmap. */
    public volatile Runnable whenUnmapping = () -> {};

    private final FakeLite session;
    private final String name;
    private final long id;
    /** Ends the session during the next call, which may or may not have been executed. */
    public volatile boolean losesSessionInNextCall;

    FakeHandle(FakeLite session, String name, long id) {
        this.session = session;
        this.name = name;
        this.id = id;
    }

    LmrHandle handle() {
        return (LmrHandle) Proxy.newProxyInstance(
                LmrHandle.class.getClassLoader(), new Class<?>[] {LmrHandle.class}, new Answers());
    }

    /** Whether a handle belongs to this session. */
    static boolean isOf(FakeLite session, LmrHandle handle) {
        return Proxy.getInvocationHandler(handle) instanceof Answers answers && answers.session() == session;
    }

    private final class Answers implements InvocationHandler {
        FakeLite session() {
            return session;
        }

        @Override
        public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given) {
            return answer(method);
        }
    }

    private @Nullable Object answer(Method method) {
        return switch (method.getName()) {
            case "id" -> id;
            case "name" -> Optional.of(name);
            case "size" -> SIZE;
            case "permissions" -> Set.of(Permission.READ, Permission.WRITE, Permission.ATOMIC);
            case "toString" -> name;
            case "hashCode" -> 1;
            case "withPriority" -> {
                whenPrioritized.run();
                yield handle();
            }
            case "unmap" -> {
                whenUnmapping.run();
                unmaps.incrementAndGet();
                yield null;
            }
            default -> operation(method);
        };
    }

    private @Nullable Object operation(Method method) {
        calls.incrementAndGet();
        whenCalled.run();
        RuntimeException failure = failures.poll();
        if (failure != null) {
            throw failure;
        }
        if (losesSessionInNextCall) {
            session.lose();
        }
        if (!session.isOpen()) {
            throw new SessionLostException("the session was lost");
        }
        if (method.getReturnType() == int.class) {
            return 5;
        }
        return method.getReturnType() == long.class ? 5L : null;
    }
}
