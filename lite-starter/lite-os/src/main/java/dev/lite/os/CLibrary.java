package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.invoke.MethodHandle;

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
        return LINKER.downcallHandle(symbol, descriptor, options);
    }

    /** Wraps what {@code invokeExact} declares but a native call never throws. */
    static AssertionError impossible(Throwable thrown) {
        return new AssertionError("a native call threw " + thrown, thrown);
    }
}
