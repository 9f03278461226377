package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A mapped LMR: the paper's {@code lh} (§4.1). It is good in this process only, and only until it is unmapped, freed or
 * revoked; using it later is always found out.
 *
 * <p><b>Threads.</b> Every method may be called by any number of threads at once. LITE orders nothing between two
 * threads' reads and writes of the same bytes; single aligned 64-bit words are atomic only through {@link #fetchAdd} and
 * {@link #testSet}.
 *
 * <p><b>Ownership.</b> A segment or array passed in is used during the call only, unless the method is an asynchronous one.
 *
 * <p><b>Waiting.</b> Every method waits at most for the session's deadline. When one that changes bytes throws something else
 * than a refusal (bounds, permission), the change may have taken place, whole or in part.
 *
 * <p><b>Errors.</b> Every data method throws {@link LmrBoundsException} when any byte would lie outside the LMR (nothing
 * is transferred then), {@link LmrPermissionException} when the handle was not mapped with the needed permission,
 * {@link LmrFreedException} when the LMR was freed or this handle unmapped, {@link LmrUnavailableException} when a node
 * that holds a part of the range is lost, {@link LiteTimeoutException} when the session's deadline passed, and {@link
 * SessionLostException} when the session has ended.
 */
public interface LmrHandle extends AutoCloseable {

    /** The cluster-wide number of the LMR; never used for another one. */
    long id();

    /** The name it was created with, if any. */
    Optional<String> name();

    /** Bytes. */
    long size();

    /** What this handle was mapped for, without what was revoked since, as far as this process was told. */
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
     * Vectored {@link #read}: fills every slice's segment from its offset. All are checked before the first is begun, and
     * all are there when it returns.
     */
    void read(List<LmrSlice> slices);

    /** Vectored {@link #write}: all slices are checked before the first is begun, and all are placed when it returns. */
    void write(List<LmrSlice> slices);

    /**
     * Begins a {@link #read(long, MemorySegment)} and returns. The segment is LITE's until the future is completed, which
     * happens exactly once: with null when the bytes are there, or with the exception that {@code read} throws. Cancelling
     * the future does not end the operation. What is refused at once (bounds, permission) is an exception of this call.
     * When as many operations are under way as the session may have, the call waits for one of them to end.
     */
    default CompletableFuture<@Nullable Void> readAsync(long offset, MemorySegment destination) {
        return readAsync(List.of(new LmrSlice(offset, destination)));
    }

    /** Begins a {@link #write(long, MemorySegment)}; see {@link #readAsync(long, MemorySegment)}. */
    default CompletableFuture<@Nullable Void> writeAsync(long offset, MemorySegment source) {
        return writeAsync(List.of(new LmrSlice(offset, source)));
    }

    /** Vectored {@link #readAsync(long, MemorySegment)}: one completion for all slices. */
    CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices);

    /** Vectored {@link #writeAsync(long, MemorySegment)}: one completion for all slices. */
    CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices);

    /**
     * {@code LT_memset}: sets {@code length} bytes (0 does nothing) from {@code offset} on to {@code value}, on every node that holds some of
     * them by that node itself. Needs {@link Permission#WRITE}.
     */
    void memset(long offset, long length, byte value);

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
     *
     * @throws LmrPermissionException when this is not a master's handle
     */
    List<Extent> extents();

    /**
     * Says what a principal may do with the LMR from now on; it replaces what was granted to it before. Handles that it has
     * mapped already lose what it may not do any more before this returns. Several principals may be masters. Needs
     * {@link Permission#MASTER}.
     *
     * @param principal the name of an application in the nodes' configuration; it need not be known anywhere yet
     * @throws LmrPermissionException when this is not a master's handle, or the LMR would be left without a master
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws NodeUnreachableException when it has none and the node that made it does not answer
     * @throws LiteTimeoutException when a mapper did not follow until the deadline; the grant stands all the same
     */
    void grant(String principal, Set<Permission> permissions);

    /** {@link #grant} of nothing at all, whatever the LMR's default permissions are. */
    default void revoke(String principal) {
        grant(principal, Set.of());
    }

    /**
     * Moves all bytes to one node. Every mapper goes on at the new place: operations that meet the move wait for its end,
     * up to their deadline, and no byte written before or during it is lost. Needs {@link Permission#MASTER}.
     *
     * @param node the node's name
     * @throws LmrPermissionException when this is not a master's handle
     * @throws LimitExceededException when that node has not enough free memory, or not for this principal; the LMR stays where
     *     it is
     * @throws NodeUnreachableException when it is not a live node, or does not answer
     * @throws LmrUnavailableException when another master changed the LMR meanwhile; it stays where it is
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws LiteTimeoutException when it was not done until the deadline; it is undone, or done, in the background
     */
    void moveTo(String node);

    /**
     * {@code LT_unmap}: gives the handle back. The LMR stays. Operations of other threads that are under way end first.
     * A second call does nothing, nor does one after the LMR was freed or the session has ended.
     *
     * @throws LiteTimeoutException when such operations have not ended until the deadline; the handle is good for nothing more
     */
    void unmap();

    /**
     * {@code LT_free}: ends the LMR for everybody. Every process that has it mapped is told, and the memory is used again
     * only after nobody can touch it any more (a mapper that does not answer delays the reuse, not this call's callers
     * elsewhere). Returns when the memory is free, or at the deadline, when the rest is done in the background. Needs {@link
     * Permission#MASTER}.
     *
     * @throws LmrPermissionException when this is not a master's handle
     * @throws LmrFreedException when it was freed before
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws NodeUnreachableException when it has none and the node that made it does not answer
     */
    void free();

    /** {@link #unmap()}. */
    @Override
    default void close() {
        unmap();
    }
}
