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
 * The native half of DiSNI, {@code libdisni}, which this module brings in its jar.
 *
 * <p><b>How it gets loaded.</b> {@link NativeDispatcher} calls {@code System.loadLibrary("disni")} when it initialises, and where
 * that searches for a file cannot be changed once the virtual machine runs. But before it searches for files, it asks whether the
 * process has a function {@code JNI_OnLoad_disni}: by the JNI specification the library is then part of the program, and
 * there is nothing to load. So the library exports that function, and is loaded here, with its symbols visible to the whole process, before
 * any thread uses {@code NativeDispatcher}. Every user of DiSNI in this process starts with this class.
 *
 * <p><b>Threads.</b> Any; the first that asks loads, once per process, and the others wait for it.
 */
public final class NativeLibrary {
    /** What the dynamic loader names when a package is missing, and what Debian and its kin call the packages. */
    private static final String PACKAGES = "libibverbs1 librdmacm1 ibverbs-providers";

    private NativeLibrary() {}

    /** Why DiSNI cannot be used here; empty if it can. */
    public static Optional<String> problem() {
        return Optional.ofNullable(Loaded.PROBLEM);
    }

    /**
     * DiSNI's native methods. Handing it null handles throws, handing it those of destroyed objects is not noticed and
     * corrupts memory; see {@code src/main/c/natives.h}.
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

    /** Where the jar has the library for an architecture, as {@code os.arch} names it. */
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
            // Nobody else may put another file into its place between writing and loading it.
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

    /** Loads the library of a file; the file is not needed afterwards. */
    public static void open(Path file) {
        try {
            SharedObject.loadGlobally(file);
        } catch (UnsatisfiedLinkError e) {
            throw failure(explain(String.valueOf(e.getMessage())), e);
        }
    }

    /** The loader's message, and what to do about it if that is known. */
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

        /** DiSNI keeps the constructor to its package. It compares the library's version with the one that it needs. */
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
