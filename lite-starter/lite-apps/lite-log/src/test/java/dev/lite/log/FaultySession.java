package dev.lite.log;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** A session whose operations on the segments of logs fail, wait or end as a test decides. Any thread. */
final class FaultySession {
    private FaultySession() {}

    /** Decides whether an operation fails, and when. */
    interface Faults {
        /** Called before and after each operation. */
        void at(boolean executed, String operation);
    }

    private static final class FaultyHandle extends ForwardingLmrHandle {
        private final LmrHandle handle;
        private final Faults faults;

        FaultyHandle(LmrHandle handle, Faults faults) {
            this.handle = handle;
            this.faults = faults;
        }

        @Override
        public LmrHandle unwrap() {
            return handle;
        }

        @Override
        public long getLong(long offset) {
            faults.at(false, "getLong");
            return super.getLong(offset);
        }

        @Override
        public long fetchAdd(long offset, long delta) {
            faults.at(false, "fetchAdd");
            long before = super.fetchAdd(offset, delta);
            faults.at(true, "fetchAdd");
            return before;
        }

        @Override
        public long testSet(long offset, long expected, long value) {
            faults.at(false, "testSet");
            long before = super.testSet(offset, expected, value);
            faults.at(true, "testSet");
            return before;
        }

        @Override
        public void unmap() {
            faults.at(false, "unmap");
            super.unmap();
        }

        @Override
        public void write(long offset, MemorySegment source) {
            faults.at(false, "write");
            super.write(offset, source);
            faults.at(true, "write");
        }
    }

    /** The handles of segments have faults. */
    static Lite of(Lite lite, Faults faults) {
        return of(lite, ".log/", handle -> new FaultyHandle(handle, faults));
    }

    /** The handles of memory whose name contains a text are replaced. */
    static Lite of(Lite lite, String text, UnaryOperator<LmrHandle> replaced) {
        return withMemory(lite, proxy(LtMemory.class, lite.memory(), text, replaced));
    }

    /** As long as a condition holds, memory whose name has this ending cannot be mapped as a master. */
    static Lite unavailable(Lite lite, String ending, BooleanSupplier fails) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    if (method.getName().equals("map")
                            && arguments[0] instanceof String name
                            && name.endsWith(ending)
                            && arguments[1] == Permission.MASTER
                            && fails.getAsBoolean()) {
                        throw new LmrUnavailableException("LMR \"%s\" is unavailable".formatted(name));
                    }
                    try {
                        return method.invoke(lite.memory(), arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return withMemory(lite, memory);
    }

    /**
     * Runs an action before and after each creation of memory whose name ends like this.
     *
     * @param action gets false before the creation, and true after it
     */
    static Lite creating(Lite lite, String ending, Consumer<Boolean> action) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    boolean creates = method.getName().equals("createOrMap")
                            && arguments[0] instanceof LmrSpec spec
                            && String.valueOf(spec.name()).endsWith(ending);
                    if (creates) {
                        action.accept(false);
                    }
                    try {
                        Object result = method.invoke(lite.memory(), arguments);
                        if (creates) {
                            action.accept(true);
                        }
                        return result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return withMemory(lite, memory);
    }

    private static Lite withMemory(Lite lite, LtMemory memory) {
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }

    /** Runs an action before each question for the node's name. */
    static Lite beforeNodeName(Lite lite, Runnable action) {
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(), new Class<?>[] {Lite.class}, (self, method, arguments) -> {
                    if (method.getName().equals("nodeName")) {
                        action.run();
                    }
                    return method.invoke(lite, arguments);
                });
    }

    /** Counts how often it is asked for its end. */
    static Lite countingEnds(Lite lite, AtomicInteger asked) {
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(), new Class<?>[] {Lite.class}, (self, method, arguments) -> {
                    if (method.getName().equals("ended")) {
                        asked.incrementAndGet();
                    }
                    return method.invoke(lite, arguments);
                });
    }

    private static <T> T proxy(Class<T> type, T target, String text, UnaryOperator<LmrHandle> replaced) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    try {
                        Object result = method.invoke(target, arguments);
                        return result instanceof LmrHandle handle
                                        && handle.name().orElse("").contains(text)
                                ? replaced.apply(handle)
                                : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }
}
