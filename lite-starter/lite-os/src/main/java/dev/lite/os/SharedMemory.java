package dev.lite.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Memory that several processes map: a memfd or a file. Any thread may use it and close it; closing is the owner's decision.
 *
 * <p>{@link #segment} is safe against {@link #close}: a late access throws {@link IllegalStateException}. Raw use of
 * {@link #address} is not: whoever does that must have stopped before the close.
 */
public final class SharedMemory implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final Descriptor descriptor;
    private final int number;
    private final long address;
    private final MemorySegment segment;

    /** Takes over an open descriptor whose file is long enough, and closes it when it cannot be mapped. */
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
     * New zeroed memory without a name in any directory, sealed against shrinking, growing and further seals: whoever is
     * given its descriptor cannot take pages away from under the others. Its pages are taken from the system when they are
     * first touched.
     *
     * @param name shown in {@code /proc/PID/maps}, at most 249 bytes
     * @param bytes at least 1
     * @throws OsException when the kernel refuses
     */
    public static SharedMemory createMemfd(String name, long bytes) {
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
        return new SharedMemory(number, bytes, name);
    }

    /**
     * A new file of mode 0600, mapped whole, with all its blocks taken at once: no later store can fail for want of space.
     *
     * @param file must not exist; its directory must
     * @param bytes at least 1
     * @throws OsException EEXIST when the file is there, ENOSPC when it does not fit; a file that could not be made whole is
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
     * Maps the whole of an existing file to read and write.
     *
     * @throws OsException ENOENT when it is not there, EACCES when it is another user's
     * @throws IllegalArgumentException when it is empty
     */
    public static SharedMemory openFile(Path file) {
        Linux.require();
        int number = MemoryCalls.openExisting(file.toString());
        long bytes;
        try {
            bytes = MemoryCalls.size(number);
            if (bytes < 1) {
                throw new IllegalArgumentException("%s has %d bytes; nothing to map".formatted(file, bytes));
            }
        } catch (OsException | IllegalArgumentException e) {
            Syscalls.close(number);
            throw e;
        }
        return new SharedMemory(number, bytes, file.toString());
    }

    /**
     * Maps the first bytes of a file that another process passed. Takes the descriptor over in every case: it is closed by
     * {@link #close}, or before an exception leaves this call.
     *
     * @param descriptor open to read and write
     * @param bytes at least 1
     * @param requireSealed whether the file must be sealed against shrinking. Without it, whoever truncates the file makes
     *     this process fail with {@link InternalError} at an unforeseeable place: leave it out only for a peer that is trusted.
     * @throws IllegalArgumentException when the file is shorter than that, or not sealed
     * @throws OsException when the kernel refuses
     */
    public static SharedMemory fromDescriptor(int descriptor, long bytes, boolean requireSealed) {
        Linux.require();
        try {
            requirePositive(bytes);
            // The seal first: once it is there, the size that is read next can only stay or grow.
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

    /** All of it; an access after {@link #close} throws {@link IllegalStateException}. */
    public MemorySegment segment() {
        return segment;
    }

    /** Where it is mapped, aligned to a page. Using it after {@link #close} ends the process. */
    public long address() {
        return address;
    }

    /** In bytes. */
    public long size() {
        return segment.byteSize();
    }

    /** The descriptor, for passing it on; it stays this object's and is open until {@link #close}. */
    public int descriptor() {
        return number;
    }

    /**
     * Asks for huge pages from here on.
     *
     * @return whether the kernel knows them for this memory; it gives no promise either way
     */
    public boolean adviseHugePages() {
        return MemoryCalls.adviseHugePages(address, size());
    }

    /**
     * Unmaps the memory and closes the descriptor; a file stays. A second call does nothing.
     *
     * @throws IllegalStateException when a native call on the segment is under way; nothing is closed then
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
