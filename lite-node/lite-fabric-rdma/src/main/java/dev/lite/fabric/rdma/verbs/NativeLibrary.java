package dev.lite.fabric.rdma.verbs;

import com.ibm.disni.verbs.impl.NativeDispatcher;
import dev.lite.os.SharedObject;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Loads {@code libdisni}, the native half of DiSNI, from this module's jar.
 *
 * <p><b>How loading works.</b> When {@link NativeDispatcher} initializes, it calls {@code System.loadLibrary("disni")}. The search path of
 * that call cannot be changed once the virtual machine runs. But before the JVM searches for a file, it checks whether the process has a
 * function {@code JNI_OnLoad_disni}. If so, by the JNI specification the library counts as linked into the program, and no file is loaded.
 * So {@code libdisni} exports that function, and this class loads it with its symbols visible to the whole process, before any thread uses
 * {@code NativeDispatcher}. All code that uses DiSNI in this process must call this class first.
 *
 * <p><b>Threads.</b> Any. The first caller loads the library, once per process; the others wait for it.
 */
public final class NativeLibrary {
    /** The packages with the libraries that {@code libdisni} needs, as Debian and its derivatives name them. */
    private static final String PACKAGES = "libibverbs1 librdmacm1 ibverbs-providers";

    private NativeLibrary() {}

    /** Why DiSNI cannot be used here; empty if it can. */
    public static Optional<String> problem() {
        return Optional.ofNullable(Loaded.PROBLEM);
    }

    /**
     * DiSNI's native methods. They throw if given a null handle. They do not detect handles of destroyed objects, which
     * corrupt memory; see {@code src/main/c/natives.h}.
     *
     * @throws UnsupportedOperationException with the message of {@link #problem} if it cannot be used here
     */
    public static NativeDispatcher dispatcher() {
        var dispatcher = Loaded.DISPATCHER;
        if (dispatcher == null) {
            throw new UnsupportedOperationException(Loaded.PROBLEM);
        }
        return dispatcher;
    }

    /** The resource name of the library for an architecture, as named by {@code os.arch}. */
    public static String resource(String architecture) {
        return "/native/linux-%s/libdisni.so".formatted(architecture);
    }

    /**
     * Loads the library for an architecture into the process.
     *
     * @throws UnsatisfiedLinkError naming what is missing and how to install it
     */
    public static void load(String architecture) {
        var resource = resource(architecture);
        try (var library = NativeLibrary.class.getResourceAsStream(resource)) {
            if (library == null) {
                throw new UnsatisfiedLinkError(
                        "RDMA needs its native library, and this build has none for processor '%s' (%s): build lite-fabric-rdma on such a machine with gcc, libibverbs-dev and librdmacm-dev installed"
                                .formatted(architecture, resource));
            }
            // Only this user can access the directory, so nobody can replace the file before it is loaded.
            var directory = Files.createTempDirectory(
                    "lite-rdma", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            var file = directory.resolve("libdisni.so");
            try {
                Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
                open(file);
            } finally {
                Files.deleteIfExists(file);
                Files.deleteIfExists(directory);
            }
        } catch (IOException e) {
            throw failure(
                    "RDMA needs its native library, which cannot be unpacked below %s (java.io.tmpdir): %s"
                            .formatted(System.getProperty("java.io.tmpdir"), e),
                    e);
        }
    }

    /** Loads the library from a file, which is not needed afterwards. */
    public static void open(Path file) {
        try {
            SharedObject.loadGlobally(file);
        } catch (UnsatisfiedLinkError e) {
            throw failure(explain(String.valueOf(e.getMessage())), e);
        }
    }

    /** The loader's message, with advice if the cause is known. */
    public static String explain(String message) {
        if (message.contains("libibverbs") || message.contains("librdmacm")) {
            return "RDMA needs the libraries libibverbs.so.1 and librdmacm.so.1 of rdma-core (on Debian or Ubuntu: apt-get install %s): %s"
                    .formatted(PACKAGES, message);
        }
        if (message.contains("failed to map segment") || message.contains("cannot enable executable")) {
            return "RDMA's native library cannot be loaded from %s, which seems to be mounted noexec; name another directory with -Djava.io.tmpdir: %s"
                    .formatted(System.getProperty("java.io.tmpdir"), message);
        }
        return "RDMA's native library cannot be loaded: " + message;
    }

    private static UnsatisfiedLinkError failure(String message, Throwable cause) {
        var failure = new UnsatisfiedLinkError(message);
        failure.initCause(cause);
        return failure;
    }

    /** Loaded on the first call. */
    private static final class Loaded {
        static final @Nullable NativeDispatcher DISPATCHER;
        static final @Nullable String PROBLEM;

        static {
            NativeDispatcher dispatcher = null;
            String problem = null;
            try {
                load(System.getProperty("os.arch", ""));
                dispatcher = create();
            } catch (LinkageError | ReflectiveOperationException | UnsupportedOperationException e) {
                problem = e.getMessage() == null ? e.toString() : e.getMessage();
            }
            DISPATCHER = dispatcher;
            PROBLEM = problem;
        }

        /** Calls DiSNI's package-private constructor, which checks the version of the library. */
        private static NativeDispatcher create() throws ReflectiveOperationException {
            try {
                var constructor = NativeDispatcher.class.getDeclaredConstructor();
                constructor.setAccessible(true);
                return constructor.newInstance();
            } catch (InvocationTargetException e) {
                throw new ReflectiveOperationException("DiSNI refuses its native library: " + e.getCause(), e);
            }
        }
    }
}
