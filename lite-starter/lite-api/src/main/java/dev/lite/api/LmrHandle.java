package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A mapped LMR: the paper's {@code lh} (§4.1). It is good in this process only, and only until it is unmapped, freed or
 * revoked; using it later is always found out.
 *
 * <p><b>Threads.</b> Every method may be called by any number of threads at once. LITE orders nothing between two
 * threads' reads and writes of the same bytes; single aligned 64-bit words are atomic only through {@link #fetchAdd} and
 * {@link #testSet}.
 *
 * <p><b>Ownership.</b> A segment or array passed in is used during the call only.
 *
 * <p><b>Errors.</b> Every data method throws {@link LmrBoundsException} when any byte would lie outside the LMR (nothing
 * is transferred then), {@link LmrPermissionException} when the handle was not mapped with the needed permission,
 * {@link LmrFreedException} when the LMR was freed or this handle unmapped, {@link LmrUnavailableException} when a node
 * that holds a part of the range is lost, and {@link LiteTimeoutException} when the session's deadline passed.
 */
public interface LmrHandle extends AutoCloseable {

    /** The cluster-wide number of the LMR; never used for another one. */
    long id();

    /** The name it was created with, if any. */
    Optional<String> name();

    /** Bytes. */
    long size();

    /** What this handle was mapped for. */
    Set<Permission> permissions();

    /** {@code LT_read}: fills {@code destination} from {@code offset} on. The bytes are there when it returns. */
    void read(long offset, MemorySegment destination);

    /** {@code LT_write}: puts all of {@code source} at {@code offset}. The bytes are placed when it returns. */
    void write(long offset, MemorySegment source);

    /** {@link #read(long, MemorySegment)} into a whole array. */
    default void read(long offset, byte[] destination) {
        read(offset, MemorySegment.ofArray(destination));
    }

    /** {@link #write(long, MemorySegment)} of a whole array. */
    default void write(long offset, byte[] source) {
        write(offset, MemorySegment.ofArray(source));
    }

    /**
     * {@code LT_fetch-add}: adds {@code delta} to the 64-bit word at {@code offset} (native byte order, wrapping) in one
     * atomic step across the cluster. Needs {@link Permission#ATOMIC}.
     *
     * @param offset a multiple of 8
     * @return the value before
     */
    long fetchAdd(long offset, long delta);

    /**
     * {@code LT_test-set}: puts {@code value} into the 64-bit word at {@code offset} if it holds {@code expected}, in one
     * atomic step across the cluster. Needs {@link Permission#ATOMIC}.
     *
     * @param offset a multiple of 8
     * @return the value before; the word was set if it equals {@code expected}
     */
    long testSet(long offset, long expected, long value);

    /**
     * Where the bytes lie, in the order of their offsets, neighbours on the same node joined. Needs
     * {@link Permission#MASTER}: only a master knows the places of an LMR (paper §4.1).
     */
    List<Extent> extents();

    /**
     * {@code LT_unmap}: gives the handle back. The LMR stays. Operations of other threads that are under way end first.
     * A second call does nothing.
     */
    void unmap();

    /**
     * {@code LT_free}: ends the LMR for everybody. Every process that has it mapped is told, and the memory is used again
     * only after nobody can touch it any more (a mapper that does not answer delays the reuse, not this call's callers
     * elsewhere). Needs {@link Permission#MASTER}.
     */
    void free();

    /** {@link #unmap()}. */
    @Override
    default void close() {
        unmap();
    }
}
