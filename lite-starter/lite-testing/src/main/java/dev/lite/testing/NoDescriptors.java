package dev.lite.testing;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.function.Supplier;

/**
 * Takes the descriptors away that this process could still open. The test must be alone in its process, and
 * must have done before what it does meanwhile: the JVM cannot open the file of a class either.
 */
public final class NoDescriptors {
    private static final int RLIMIT_NOFILE = 7;
    /** Only the standard streams have lower numbers, and they are open. */
    private static final long LIMIT = 3;

    private static final MethodHandle GETRLIMIT = function("getrlimit");
    private static final MethodHandle SETRLIMIT = function("setrlimit");

    private NoDescriptors() {}

    /** Does something while this process has no descriptor left. Those that are open stay open. */
    public static <T> T during(Supplier<T> work) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment before = arena.allocate(JAVA_LONG, 2); // the limit, and its upper bound
            call(GETRLIMIT, before);
            call(SETRLIMIT, arena.allocateFrom(JAVA_LONG, LIMIT, before.getAtIndex(JAVA_LONG, 1)));
            try {
                return work.get();
            } finally {
                call(SETRLIMIT, before);
            }
        }
    }

    private static MethodHandle function(String name) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow(name), FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
    }

    private static void call(MethodHandle function, MemorySegment limits) {
        int result;
        try {
            result = (int) function.invokeExact(RLIMIT_NOFILE, limits);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
        if (result != 0) {
            throw new IllegalStateException("the limit of descriptors cannot be read or changed");
        }
    }
}
