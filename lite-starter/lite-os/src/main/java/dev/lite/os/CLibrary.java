package dev.lite.os;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;

/** Links functions of the C library. Every handle takes the {@link CallState#capture} of its thread first. */
final class CLibrary {
    /**
     * Pointers are passed as addresses: both supported ABIs pass them like 64-bit integers, and a {@code long} needs no
     * segment. The caller keeps the memory alive during the call.
     */
    static final MemoryLayout POINTER = JAVA_LONG;

    private static final Linker LINKER = Linker.nativeLinker();

    private CLibrary() {}

    static MethodHandle function(String name, MemoryLayout result, MemoryLayout... parameters) {
        return link(name, FunctionDescriptor.of(result, parameters), Linker.Option.captureCallState("errno"));
    }

    /**
     * A function whose second parameter is an array of the heap, of all with these four parameters: a descriptor, the array's segment,
     * a length and flags. It must not block: the thread reaches no safepoint before it returns, and a garbage collection waits for that.
     */
    static MethodHandle ofArray(String name) {
        FunctionDescriptor descriptor = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG);
        return LINKER.downcallHandle(
                find(name), descriptor, Linker.Option.captureCallState("errno"), Linker.Option.critical(true));
    }

    /** A function declared with {@code ...}, called with these parameters, of which the first {@code fixed} are named. */
    static MethodHandle variadic(String name, int fixed, MemoryLayout result, MemoryLayout... parameters) {
        return link(
                name,
                FunctionDescriptor.of(result, parameters),
                Linker.Option.firstVariadicArg(fixed),
                Linker.Option.captureCallState("errno"));
    }

    private static MethodHandle link(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        MethodType type = descriptor.toMethodType().insertParameterTypes(0, MemorySegment.class);
        return MethodHandles.explicitCastArguments(LINKER.downcallHandle(find(name), words(descriptor), options), type);
    }

    private static MemorySegment find(String name) {
        return LINKER.defaultLookup()
                .find(name)
                .orElseThrow(() -> new UnsupportedOperationException(
                        "the C library of this system has no '%s'; LITE needs glibc 2.27 or newer".formatted(name)));
    }

    /**
     * The same function with only 64-bit integers, of which both supported ABIs read the lower half for an {@code int}, also
     * after {@code ...}. The JVM generates code for each kind of function that it links, which costs several milliseconds at
     * the start of an application: so there is one kind for each number of parameters.
     */
    private static FunctionDescriptor words(FunctionDescriptor descriptor) {
        MemoryLayout[] parameters =
                new MemoryLayout[descriptor.argumentLayouts().size()];
        Arrays.fill(parameters, JAVA_LONG);
        return FunctionDescriptor.of(JAVA_LONG, parameters);
    }

    /** Wraps what {@code invokeExact} declares but a native call never throws. */
    static AssertionError impossible(Throwable thrown) {
        return new AssertionError("a native call threw " + thrown, thrown);
    }
}
