package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** A native library that stays loaded until the process ends. */
public final class SharedObject {
    private static final int RTLD_NOW = 2;
    private static final int RTLD_GLOBAL = 0x100;
    private static final int ERROR_WORDS_MAX = 4096;

    private static final MethodHandle DLOPEN =
            CLibrary.function("dlopen", CLibrary.POINTER, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle DLERROR = CLibrary.function("dlerror", CLibrary.POINTER);

    private SharedObject() {}

    /**
     * Loads a library so that the whole process sees its symbols, as if the program were linked with it. The file may be
     * deleted afterwards.
     *
     * @throws UnsatisfiedLinkError with the loader's message, when the file cannot be loaded or a library that it needs is
     *     missing
     * @throws UnsupportedOperationException when this is not Linux, see {@link Linux#require}
     */
    public static void loadGlobally(Path file) {
        Linux.require();
        var state = CallState.current();
        try (var arena = Arena.ofConfined()) {
            var name = arena.allocateFrom(file.toString());
            if ((long) DLOPEN.invokeExact(state.capture, name.address(), RTLD_NOW | RTLD_GLOBAL) == 0) {
                throw new UnsatisfiedLinkError(words((long) DLERROR.invokeExact(state.capture)));
            }
        } catch (UnsatisfiedLinkError e) {
            throw e;
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** The loader keeps its message per thread, until the thread's next call of the loader. */
    private static String words(long address) {
        return address == 0
                ? "the loader gave no reason"
                : MemorySegment.ofAddress(address).reinterpret(ERROR_WORDS_MAX).getString(0);
    }
}
