package dev.lite.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Memory that several processes map: a memfd or a file. Any thread may use and close it; the owner decides when to close
 * it.
 *
 * <p>{@link #segment} is safe against {@link #close}: a late access throws {@link IllegalStateException}. Raw use of {@link
 * #address} is not: it must have ended before the close.
 */
public final class SharedMemory implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final Descriptor descriptor;
    private final int number;
    private final long address;
    private final MemorySegment segment;

    /** Takes over an open descriptor whose file is long enough, and closes it if mapping fails. */
    private SharedMemory(int number, long bytes, String name) {
        this.number = number;
        descriptor = new Descriptor(number, name);
        try {
            address = MemoryCalls.map(number, bytes, name);
        } catch (OsException e) {
            descriptor.close();
            arena.close();
            throw e;
        }
        segment = MemorySegment.ofAddress(address)
                .reinterpret(bytes, arena, mapped -> MemoryCalls.unmap(mapped.address(), mapped.byteSize()));
    }

    /**
     * Creates zeroed memory without a file, sealed against shrinking, growing and further seals: a process that receives
     * its descriptor cannot take pages away from the others. The system allocates a page at its first access.
     *
     * @param name shown in {@code /proc/PID/maps}, at most 249 bytes
     * @param bytes at least 1
     * @throws OsException when the kernel refuses
     */
    public static SharedMemory createMemfd(String name, long bytes) {
        return new SharedMemory(newMemfd(name, bytes), bytes, name);
    }

    /**
     * As {@link #createMemfd}, for a process that only passes the memory on and does not map it.
     *
     * @return a descriptor, which the caller must {@linkplain Linux#closeDescriptor close}
     * @throws OsException when the kernel refuses
     */
    public static int newMemfd(String name, long bytes) {
        Linux.require();
        requirePositive(bytes);
        int number = MemoryCalls.memfdCreate(name);
        try {
            MemoryCalls.truncate(number, bytes);
            MemoryCalls.addSeals(number, MemoryCalls.F_SEAL_SHRINK | MemoryCalls.F_SEAL_GROW | MemoryCalls.F_SEAL_SEAL);
        } catch (OsException e) {
            Syscalls.close(number);
            throw e;
        }
        return number;
    }

    /**
     * Creates a file of mode 0600 and maps all of it. All its blocks are allocated now, so that no later store fails
     * because the file system is full.
     *
     * @param file must not exist; its directory must
     * @param bytes at least 1
     * @throws OsException EEXIST when the file exists, ENOSPC when the file system is too small; an incomplete file is
     *     removed
     */
    public static SharedMemory createFile(Path file, long bytes) {
        Linux.require();
        requirePositive(bytes);
        int number = MemoryCalls.openNew(file.toString());
        try {
            MemoryCalls.allocate(number, bytes, file.toString());
        } catch (OsException e) {
            Syscalls.close(number);
            remove(file, e);
            throw e;
        }
        try {
            return new SharedMemory(number, bytes, file.toString());
        } catch (OsException e) {
            remove(file, e);
            throw e;
        }
    }

    /**
     * Creates memory on a file system without a name there, and maps it. Nobody can open it; it is passed as a descriptor.
     * It ends with the last process that has it, however that process ends. All its blocks are allocated now, like those
     * of {@link #createFile}.
     *
     * @param directory an existing directory on the file system, such as {@code /dev/shm}
     * @param bytes at least 1
     * @throws OsException ENOSPC when the file system is too small, EOPNOTSUPP when it cannot have unnamed files
     */
    public static SharedMemory createUnnamed(Path directory, long bytes) {
        Linux.require();
        requirePositive(bytes);
        String name = "unnamed memory in " + directory;
        int number = MemoryCalls.openUnnamed(directory.toString());
        try {
            MemoryCalls.allocate(number, bytes, name);
        } catch (OsException e) {
            Syscalls.close(number);
            throw e;
        }
        return new SharedMemory(number, bytes, name);
    }

    /**
     * Maps all of an existing file for reading and writing.
     *
     * @throws OsException ENOENT when the file does not exist, EACCES when it belongs to another user
     * @throws IllegalArgumentException when it is empty
     */
    public static SharedMemory openFile(Path file) {
        Linux.require();
        return whole(MemoryCalls.openExisting(file.toString()), file.toString());
    }

    /**
     * Maps all of an existing file of a directory for reading and writing.
     *
     * @param name the file's name in the directory
     * @throws OsException ENOENT when the file does not exist, ELOOP when it is a link, EACCES when it belongs to another user
     * @throws IllegalArgumentException when it is empty
     */
    public static SharedMemory openFile(OpenDirectory directory, String name) {
        OpenDirectory.requireName(name);
        return whole(MemoryCalls.openExistingIn(directory.number(), name), directory + "/" + name);
    }

    private static SharedMemory whole(int number, String file) {
        long bytes;
        try {
            bytes = MemoryCalls.size(number);
            if (bytes < 1) {
                throw new IllegalArgumentException("%s has %d bytes; there is nothing to map".formatted(file, bytes));
            }
        } catch (OsException | IllegalArgumentException e) {
            Syscalls.close(number);
            throw e;
        }
        return new SharedMemory(number, bytes, file);
    }

    /**
     * Maps the first bytes of a file that another process passed. Always takes over the descriptor: {@link #close} closes
     * it, or this method does before it throws.
     *
     * @param descriptor open for reading and writing
     * @param bytes at least 1
     * @param requireSealed whether the file must be sealed against shrinking. Otherwise the peer can truncate the file and
     *     make this process fail with {@link InternalError} at any access: pass false only for a trusted peer.
     * @throws IllegalArgumentException when the file is shorter, or not sealed although required
     * @throws OsException when the kernel refuses
     */
    public static SharedMemory fromDescriptor(int descriptor, long bytes, boolean requireSealed) {
        Linux.require();
        try {
            requirePositive(bytes);
            // Check the seal first: once it is set, the file can no longer become shorter than the size read next.
            if (requireSealed && (MemoryCalls.seals(descriptor) & MemoryCalls.F_SEAL_SHRINK) == 0) {
                throw new IllegalArgumentException(
                        "the memory passed as descriptor %d is not sealed against shrinking".formatted(descriptor));
            }
            long available = MemoryCalls.size(descriptor);
            if (available < bytes) {
                throw new IllegalArgumentException("the memory passed as descriptor %d has %d bytes; %d were announced"
                        .formatted(descriptor, available, bytes));
            }
        } catch (OsException | IllegalArgumentException e) {
            Syscalls.close(descriptor);
            throw e;
        }
        return new SharedMemory(descriptor, bytes, "descriptor " + descriptor);
    }

    /** The whole memory; an access after {@link #close} throws {@link IllegalStateException}. */
    public MemorySegment segment() {
        return segment;
    }

    /** The page-aligned address of the mapping. An access after {@link #close} crashes the process. */
    public long address() {
        return address;
    }

    /** The size in bytes. */
    public long size() {
        return segment.byteSize();
    }

    /** The descriptor, for passing it to another process. This object owns it and closes it in {@link #close}. */
    public int descriptor() {
        return number;
    }

    /**
     * Asks the kernel for huge pages.
     *
     * @return whether the kernel accepted the advice, which is no guarantee
     */
    public boolean adviseHugePages() {
        return MemoryCalls.adviseHugePages(address, size());
    }

    /**
     * Unmaps the memory and closes the descriptor; a file stays. Idempotent.
     *
     * @throws IllegalStateException when a native call on the segment is in progress; nothing is closed then
     */
    @Override
    public synchronized void close() {
        if (arena.scope().isAlive()) {
            arena.close();
            descriptor.close();
        }
    }

    @Override
    public String toString() {
        return "SharedMemory[%s, %d bytes]".formatted(descriptor.name(), size());
    }

    private static void requirePositive(long bytes) {
        if (bytes < 1) {
            throw new IllegalArgumentException("shared memory needs a size of at least 1 byte, not " + bytes);
        }
    }

    private static void remove(Path file, OsException reason) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            reason.addSuppressed(new UncheckedIOException(e));
        }
    }
}
