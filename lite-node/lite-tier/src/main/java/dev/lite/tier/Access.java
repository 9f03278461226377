package dev.lite.tier;

import java.lang.foreign.MemorySegment;

/**
 * One access to memory that a fabric reaches. Immutable; not checked here.
 *
 * @param offset bytes from the start of the LMR for {@link TierHandle}, from that of the node's arena for {@link RemoteMemory}
 * @param first what {@link Operation#FETCH_ADD} adds, or what {@link Operation#COMPARE_AND_SWAP} expects
 * @param second what {@link Operation#COMPARE_AND_SWAP} stores
 * @param local native memory of this process: the bytes to write, or where those read go; for an atomic operation 8 bytes, which
 *     get the word's former value. Its size is the length of the access
 */
public record Access(Operation operation, long offset, long first, long second, MemorySegment local) {

    /** {@code local.byteSize()} bytes from {@code offset} on → {@code local}. */
    public static Access read(long offset, MemorySegment local) {
        return new Access(Operation.READ, offset, 0, 0, local);
    }

    /** {@code local} → as many bytes from {@code offset} on. */
    public static Access write(long offset, MemorySegment local) {
        return new Access(Operation.WRITE, offset, 0, 0, local);
    }

    /** Bytes. */
    public long length() {
        return local.byteSize();
    }

    /** The same access at another offset. */
    public Access at(long other) {
        return new Access(operation, other, first, second, local);
    }
}
