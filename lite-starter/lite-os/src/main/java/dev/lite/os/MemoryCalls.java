package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandle;

/** The calls that create, size, seal and map memory. Each throws {@link OsException} on failure. */
final class MemoryCalls {
    static final int F_SEAL_SEAL = 0x1;
    static final int F_SEAL_SHRINK = 0x2;
    static final int F_SEAL_GROW = 0x4;

    private static final int F_ADD_SEALS = 1033;
    private static final int F_GET_SEALS = 1034;
    private static final int MFD_CLOEXEC = 0x1;
    private static final int MFD_ALLOW_SEALING = 0x2;
    private static final int MFD_NOEXEC_SEAL = 0x8;
    private static final int O_RDWR = 0x2;
    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_CLOEXEC = 0x80000;
    private static final int O_PATH = 0x200000;
    private static final boolean AARCH64 = System.getProperty("os.arch", "").equals("aarch64");
    private static final int O_DIRECTORY = AARCH64 ? 0x4000 : 0x10000;
    private static final int O_NOFOLLOW = AARCH64 ? 0x8000 : 0x20000;
    private static final int O_TMPFILE = 0x400000 | O_DIRECTORY;

    private static final int OWNER_ONLY = 0600;
    private static final int SEEK_END = 2;
    private static final int PROT_READ_WRITE = 0x3;
    private static final int MAP_SHARED = 0x1;
    private static final int MADV_HUGEPAGE = 14;
    private static final long MAP_FAILED = -1;

    private static final MethodHandle MEMFD_CREATE =
            CLibrary.function("memfd_create", JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle OPEN =
            CLibrary.variadic("open", 2, JAVA_INT, CLibrary.POINTER, JAVA_INT, JAVA_INT);
    private static final MethodHandle OPENAT =
            CLibrary.variadic("openat", 3, JAVA_INT, JAVA_INT, CLibrary.POINTER, JAVA_INT, JAVA_INT);
    private static final MethodHandle FCNTL = CLibrary.variadic("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle FTRUNCATE = CLibrary.function("ftruncate", JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final MethodHandle POSIX_FALLOCATE =
            CLibrary.function("posix_fallocate", JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LSEEK = CLibrary.function("lseek", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle MMAP = CLibrary.function(
            "mmap", CLibrary.POINTER, CLibrary.POINTER, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final MethodHandle MUNMAP = CLibrary.function("munmap", JAVA_INT, CLibrary.POINTER, JAVA_LONG);
    private static final MethodHandle MADVISE =
            CLibrary.function("madvise", JAVA_INT, CLibrary.POINTER, JAVA_LONG, JAVA_INT);

    private MemoryCalls() {}

    static int memfdCreate(String name) {
        var state = CallState.current();
        try (var arena = Arena.ofConfined()) {
            long text = arena.allocateFrom(name).address();
            int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
            int descriptor = (int) MEMFD_CREATE.invokeExact(state.capture, text, flags | MFD_NOEXEC_SEAL);
            if (descriptor < 0 && state.errno() == Errno.EINVAL) {
                // Kernels before 6.3 do not know the flag; hardened newer kernels require it.
                descriptor = (int) MEMFD_CREATE.invokeExact(state.capture, text, flags);
            }
            if (descriptor < 0) {
                throw new OsException("memfd_create(%s)".formatted(name), state.errno());
            }
            return descriptor;
        } catch (OsException e) {
            throw e;
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static int openNew(String path) {
        return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
    }

    /** Opens a new file of mode 0600 on the directory's file system that never has a name. */
    static int openUnnamed(String directory) {
        return open(directory, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC);
    }

    static int openExisting(String path) {
        return open(path, O_RDWR | O_CLOEXEC);
    }

    /** Opens a directory, for finding what is in it only. */
    static int openDirectory(String path) {
        return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }

    /** Opens a directory in another one, for finding what is in it only. Follows no link. */
    static int openDirectoryIn(int directory, String name) {
        return openIn(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }

    /** Opens a file in a directory. Follows no link. */
    static int openExistingIn(int directory, String name) {
        return openIn(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    }

    private static int openIn(int directory, String name, int flags) {
        var state = CallState.current();
        int descriptor;
        try (var arena = Arena.ofConfined()) {
            long text = arena.allocateFrom(name).address();
            do {
                descriptor = (int) OPENAT.invokeExact(state.capture, directory, text, flags, 0);
            } while (descriptor < 0 && state.errno() == Errno.EINTR);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (descriptor < 0) {
            throw new OsException("openat(%s)".formatted(name), state.errno());
        }
        return descriptor;
    }

    private static int open(String path, int flags) {
        var state = CallState.current();
        int descriptor;
        try (var arena = Arena.ofConfined()) {
            long text = arena.allocateFrom(path).address();
            do {
                descriptor = (int) OPEN.invokeExact(state.capture, text, flags, OWNER_ONLY);
            } while (descriptor < 0 && state.errno() == Errno.EINTR);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (descriptor < 0) {
            throw new OsException("open(%s)".formatted(path), state.errno());
        }
        return descriptor;
    }

    static void truncate(int descriptor, long bytes) {
        var state = CallState.current();
        int result;
        try {
            result = (int) FTRUNCATE.invokeExact(state.capture, descriptor, bytes);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (result < 0) {
            throw new OsException("ftruncate(descriptor %d, %d bytes)".formatted(descriptor, bytes), state.errno());
        }
    }

    /** Sizes a file and allocates all its blocks, so that no later store fails because the file system is full. */
    static void allocate(int descriptor, long bytes, String path) {
        int error;
        try {
            do {
                // Unlike the others, this function returns its error.
                error = (int) POSIX_FALLOCATE.invokeExact(CallState.current().capture, descriptor, 0L, bytes);
            } while (error == Errno.EINTR);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (error != 0) {
            throw new OsException("posix_fallocate(%s, %d bytes)".formatted(path, bytes), error);
        }
    }

    static void addSeals(int descriptor, int seals) {
        var state = CallState.current();
        if (fcntl(state, descriptor, F_ADD_SEALS, seals) < 0) {
            throw new OsException("fcntl(descriptor %d, F_ADD_SEALS)".formatted(descriptor), state.errno());
        }
    }

    /** The seals of a descriptor; 0 for a file that does not support seals. */
    static int seals(int descriptor) {
        var state = CallState.current();
        int seals = fcntl(state, descriptor, F_GET_SEALS, 0);
        if (seals >= 0) {
            return seals;
        }
        if (state.errno() == Errno.EINVAL) {
            return 0;
        }
        throw new OsException("fcntl(descriptor %d, F_GET_SEALS)".formatted(descriptor), state.errno());
    }

    private static int fcntl(CallState state, int descriptor, int command, int argument) {
        try {
            return (int) FCNTL.invokeExact(state.capture, descriptor, command, argument);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** The size of the file in bytes. Uses lseek because glibc exports fstat only since 2.33. */
    static long size(int descriptor) {
        var state = CallState.current();
        long bytes;
        try {
            bytes = (long) LSEEK.invokeExact(state.capture, descriptor, 0L, SEEK_END);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (bytes < 0) {
            throw new OsException("lseek(descriptor %d)".formatted(descriptor), state.errno());
        }
        return bytes;
    }

    /** Maps the first bytes of a file, shared, for reading and writing. */
    static long map(int descriptor, long bytes, String name) {
        var state = CallState.current();
        long address;
        try {
            address = (long) MMAP.invokeExact(state.capture, 0L, bytes, PROT_READ_WRITE, MAP_SHARED, descriptor, 0L);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (address == MAP_FAILED) {
            throw new OsException("mmap(%s, %d bytes)".formatted(name, bytes), state.errno());
        }
        return address;
    }

    static void unmap(long address, long bytes) {
        var state = CallState.current();
        int result;
        try {
            result = (int) MUNMAP.invokeExact(state.capture, address, bytes);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (result < 0) {
            throw new OsException("munmap(0x%x, %d bytes)".formatted(address, bytes), state.errno());
        }
    }

    static boolean adviseHugePages(long address, long bytes) {
        try {
            return (int) MADVISE.invokeExact(CallState.current().capture, address, bytes, MADV_HUGEPAGE) == 0;
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }
}
