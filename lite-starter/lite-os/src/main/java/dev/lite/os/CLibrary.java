package dev.lite.os;

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

    /** A function declared with {@code ...}, called with these parameters, of which the first {@code fixed} are named. */
    static MethodHandle variadic(String name, int fixed, MemoryLayout result, MemoryLayout... parameters) {
        return link(
                name,
                FunctionDescriptor.of(result, parameters),
                Linker.Option.firstVariadicArg(fixed),
                Linker.Option.captureCallState("errno"));
    }

    private static MethodHandle link(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        var symbol = LINKER.defaultLookup()
                .find(name)
                .orElseThrow(() -> new UnsupportedOperationException(
                        "the C library of this system has no '%s'; LITE needs glibc 2.27 or newer".formatted(name)));
        MethodType type = descriptor.toMethodType().insertParameterTypes(0, MemorySegment.class);
        return MethodHandles.explicitCastArguments(LINKER.downcallHandle(symbol, words(descriptor), options), type);
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
