package dev.lite.simulate.engine;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.util.concurrent.Executor;

/**
 * What the simulation needs of the JDK's virtual threads and the JDK does not publish; wants {@code --add-opens
 * java.base/java.lang=ALL-UNNAMED}. As in JDK 25.
 */
final class JdkThreads {
    private static final int PINNED = 5;
    private static final int TIMED_PINNED = 8;
    private static final int BLOCKED = 13;
    private static final int WAIT = 16;
    private static final int TIMED_WAIT = 18;

    private static final MethodHandle CONSTRUCTOR;
    private static final VarHandle STATE;
    private static final VarHandle ON_WAITING_LIST;
    private static final VarHandle CONTINUATION;
    private static final MethodHandle THREAD;

    static {
        try {
            Class<?> type = Class.forName("java.lang.VirtualThread");
            MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(type, MethodHandles.lookup());
            CONSTRUCTOR = lookup.findConstructor(
                            type,
                            MethodType.methodType(void.class, Executor.class, String.class, int.class, Runnable.class))
                    .asType(MethodType.methodType(
                            Thread.class, Executor.class, String.class, int.class, Runnable.class));
            STATE = lookup.findVarHandle(type, "state", int.class);
            ON_WAITING_LIST = lookup.findVarHandle(type, "onWaitingList", boolean.class);
            CONTINUATION = lookup.findVarHandle(type, "runContinuation", Runnable.class);
            // A lambda; its only field is what it captured.
            Thread any = (Thread) lookup.findConstructor(
                            type,
                            MethodType.methodType(void.class, Executor.class, String.class, int.class, Runnable.class))
                    .invoke(null, "", 0, (Runnable) () -> {});
            Field captured = CONTINUATION.get(any).getClass().getDeclaredFields()[0];
            captured.setAccessible(true);
            THREAD = MethodHandles.lookup()
                    .unreflectGetter(captured)
                    .asType(MethodType.methodType(Thread.class, Runnable.class));
        } catch (Throwable e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private JdkThreads() {}

    /** A virtual thread whose scheduler is the executor. */
    static Thread make(Executor scheduler, String name, Runnable task) {
        try {
            return (Thread) CONSTRUCTOR.invokeExact(scheduler, name, 0, task);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new LinkageError("the constructor of virtual threads declares no exception", e);
        }
    }

    /** What the JDK hands to the scheduler for this thread: always the same object. */
    static Runnable continuation(Thread thread) {
        return (Runnable) CONTINUATION.get(thread);
    }

    /** The thread that a continuation belongs to. */
    static Thread threadOf(Runnable continuation) {
        try {
            return (Thread) THREAD.invokeExact(continuation);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new LinkageError("reading a field throws nothing else", e);
        }
    }

    /** Whether it waits for a monitor, to enter it or to be notified: the JVM's own thread brings it back. */
    static boolean waitsForMonitor(Thread thread) {
        int state = (int) STATE.get(thread);
        return state == BLOCKED || state == WAIT || state == TIMED_WAIT;
    }

    /** Whether it blocks its carrier. */
    static boolean isPinned(Thread thread) {
        int state = (int) STATE.get(thread);
        return state == PINNED || state == TIMED_PINNED;
    }

    /** Whether the JVM has it on the list of threads that it is about to bring back. */
    static boolean isOnWaitingList(Thread thread) {
        return (boolean) ON_WAITING_LIST.getVolatile(thread);
    }
}
