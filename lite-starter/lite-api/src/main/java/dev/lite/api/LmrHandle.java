package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A mapped LMR: the paper's {@code lh} (§4.1). A handle is valid in this process only, and until it is unmapped or its LMR is
 * freed. Every later use throws {@link LmrFreedException}; a stale handle never reaches the memory of another LMR.
 *
 * <p><b>Threads.</b> Any number of threads may call any method at the same time. Except for words, LITE does not order reads and
 * writes of the same bytes by different threads.
 *
 * <p><b>Words.</b> A word is an aligned {@code long} or {@code int} in the processors' byte order: little-endian on x86-64 and
 * AArch64. {@link #getLong}, {@link #putLong} and the {@code int} forms are never torn. {@link #fetchAdd}, {@link #testSet} and the
 * methods based on them change a word atomically across the cluster. {@code putLong} and {@code putInt} are plain
 * stores: they may overwrite a concurrent atomic change. A change of a word <i>publishes</i>: a thread that reads the new value also
 * sees all writes, to any LMR, that had returned at the writer before the change. An operation on a word allocates nothing, in attached
 * applications and, with an embedded node, for memory that the node has mapped.
 *
 * <p><b>Ownership.</b> LITE uses the segments and arrays that are passed in only during the call. With an asynchronous method it
 * owns them until the future is complete.
 *
 * <p><b>Deadlines.</b> Every method waits at most for the session's deadline. An attached application sends it to its node with every
 * operation; the node's configured deadline does not shorten it. The node gives up a little earlier (by a fifth of the deadline, at most
 * 0.5 s), so that its error message still arrives. A node shortens deadlines of more than one hour to one hour.
 *
 * <p><b>Errors.</b> The data methods (read, write, memset and the atomic ones) throw:
 *
 * <ul>
 *   <li>{@link LmrBoundsException} when a byte lies outside the LMR, and {@link LmrPermissionException} when the handle lacks the
 *       permission. Nothing was transferred.
 *   <li>{@link LmrFreedException} when the LMR was freed or the handle unmapped.
 *   <li>{@link LmrUnavailableException} when a node that stores a part of the range is lost.
 *   <li>{@link LiteTimeoutException} when the deadline passed.
 *   <li>{@link SessionLostException} when the session has ended.
 * </ul>
 *
 * After any error but the first two (bounds, permission), a change may have taken effect in whole or in part.
 */
public interface LmrHandle extends AutoCloseable {

    /** The LMR's number in the cluster. No other LMR ever gets it. */
    long id();

    /** The LMR's name; empty for an anonymous LMR. */
    Optional<String> name();

    /** The size of the LMR in bytes. */
    long size();

    /**
     * The permissions that this handle was mapped with, without those that were revoked since. Asks the node; returns the permissions
     * of the mapping when the LMR was freed or the session has ended.
     */
    Set<Permission> permissions();

    /**
     * {@code LT_read}: fills {@code destination} with the bytes from {@code offset} on, and returns when all have arrived. Needs
     * {@link Permission#READ}.
     *
     * @param offset the offset in the LMR, in bytes
     */
    void read(long offset, MemorySegment destination);

    /**
     * {@code LT_write}: writes all of {@code source} at {@code offset}, and returns when every reader sees the bytes. Needs {@link
     * Permission#WRITE}.
     *
     * @param offset the offset in the LMR, in bytes
     */
    void write(long offset, MemorySegment source);

    /** {@link #read(long, MemorySegment)}; fills the whole array. */
    default void read(long offset, byte[] destination) {
        read(offset, MemorySegment.ofArray(Objects.requireNonNull(destination, "destination")));
    }

    /** {@link #write(long, MemorySegment)}; writes the whole array. */
    default void write(long offset, byte[] source) {
        write(offset, MemorySegment.ofArray(Objects.requireNonNull(source, "source")));
    }

    /**
     * Vectored {@link #read}: fills the segment of every slice, and returns when all have arrived. All slices are checked before the
     * first is read.
     */
    void read(List<LmrSlice> slices);

    /**
     * Vectored {@link #write}: writes every slice, and returns when readers see them all. All slices are checked before the first is
     * written.
     */
    void write(List<LmrSlice> slices);

    /**
     * Starts a {@link #read(long, MemorySegment)} and returns. LITE owns the segment until the future completes. The future
     * completes exactly once: with null when all bytes have arrived, or with the exception that {@code read} would throw.
     * Cancelling the future does not stop the operation.
     *
     * <p>A platform thread that waits with {@code get} or {@code join} polls for the completions itself. So the fastest way is to keep
     * several operations in flight and wait for the oldest one. Dependent stages run on virtual threads.
     *
     * <p>Errors that are known at once (bounds, permission) are thrown by this call. When the session has reached its limit of
     * asynchronous operations (1,024), this call waits for one of them to end. An interrupt does not end this
     * wait, and is kept.
     *
     * @throws LiteTimeoutException when none ended within the session's deadline; nothing was started
     */
    default CompletableFuture<@Nullable Void> readAsync(long offset, MemorySegment destination) {
        return readAsync(List.of(new LmrSlice(offset, Objects.requireNonNull(destination, "destination"))));
    }

    /** Starts a {@link #write(long, MemorySegment)}; see {@link #readAsync(long, MemorySegment)}. */
    default CompletableFuture<@Nullable Void> writeAsync(long offset, MemorySegment source) {
        return writeAsync(List.of(new LmrSlice(offset, Objects.requireNonNull(source, "source"))));
    }

    /** Vectored {@link #readAsync(long, MemorySegment)}; the future completes when all slices have. */
    CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices);

    /** Vectored {@link #writeAsync(long, MemorySegment)}; the future completes when all slices have. */
    CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices);

    /**
     * {@code LT_memset}: sets {@code length} bytes from {@code offset} on to {@code value}. Each node sets the bytes that it stores,
     * so no data crosses the network. Needs {@link Permission#WRITE}.
     *
     * @param offset the offset in the LMR, in bytes
     * @param length the number of bytes; 0 does nothing
     */
    void memset(long offset, long length, byte value);

    /**
     * {@code LT_fetch-add}: atomically adds {@code delta} to the 64-bit word at {@code offset} (native byte order; overflow wraps
     * around). Atomic across the cluster. Needs {@link Permission#ATOMIC}.
     *
     * @param offset the offset in the LMR, in bytes; a multiple of 8
     * @return the previous value
     */
    long fetchAdd(long offset, long delta);

    /**
     * {@code LT_test-set}: atomically sets the 64-bit word at {@code offset} to {@code value} if it equals {@code expected}. Atomic
     * across the cluster. Needs {@link Permission#ATOMIC}.
     *
     * @param offset the offset in the LMR, in bytes; a multiple of 8
     * @return the previous value; the word was set if this equals {@code expected}
     */
    long testSet(long offset, long expected, long value);

    /**
     * Reads a 64-bit word. Memory order: acquire. Needs {@link Permission#READ}.
     *
     * @param offset the offset in the LMR, in bytes; a multiple of 8
     */
    default long getLong(long offset) {
        Words.requireAligned("getLong", this, offset, Long.BYTES);
        long[] word = new long[1];
        read(offset, MemorySegment.ofArray(word));
        VarHandle.acquireFence();
        return word[0];
    }

    /**
     * Writes a 64-bit word. Memory order: release. Needs {@link Permission#WRITE}.
     *
     * @param offset the offset in the LMR, in bytes; a multiple of 8
     */
    default void putLong(long offset, long value) {
        Words.requireAligned("putLong", this, offset, Long.BYTES);
        VarHandle.releaseFence();
        write(offset, MemorySegment.ofArray(new long[] {value}));
    }

    /** {@link #fetchAdd}, named as in {@code AtomicLong}. */
    default long getAndAdd(long offset, long delta) {
        return fetchAdd(offset, delta);
    }

    /**
     * Atomically sets a 64-bit word, and returns its previous value. Repeats {@link #testSet} until no concurrent change intervenes.
     * Parameters and permission are those of {@code testSet}.
     */
    default long getAndSet(long offset, long value) {
        return Words.getAndSet(this, offset, value);
    }

    /** Like {@link #testSet}, but returns whether the word was set. */
    default boolean compareAndSet(long offset, long expected, long value) {
        return testSet(offset, expected, value) == expected;
    }

    /**
     * Reads a 32-bit word. Memory order: acquire. Needs {@link Permission#READ}.
     *
     * @param offset the offset in the LMR, in bytes; a multiple of 4
     */
    default int getInt(long offset) {
        Words.requireAligned("getInt", this, offset, Integer.BYTES);
        int[] word = new int[1];
        read(offset, MemorySegment.ofArray(word));
        VarHandle.acquireFence();
        return word[0];
    }

    /**
     * Writes a 32-bit word. Memory order: release. Needs {@link Permission#WRITE}.
     *
     * @param offset the offset in the LMR, in bytes; a multiple of 4
     */
    default void putInt(long offset, int value) {
        Words.requireAligned("putInt", this, offset, Integer.BYTES);
        VarHandle.releaseFence();
        write(offset, MemorySegment.ofArray(new int[] {value}));
    }

    /**
     * Atomically adds to a 32-bit word (overflow wraps around), and returns its previous value. Repeats {@link #testSet} on the aligned
     * 8 bytes that contain the word; these must lie inside the LMR. Needs {@link Permission#ATOMIC}.
     *
     * @param offset the offset in the LMR, in bytes; a multiple of 4
     */
    default int getAndAddInt(long offset, int delta) {
        return Words.updateInt("getAndAddInt", this, offset, Words.IntChange.ADD, 0, delta);
    }

    /** Atomically sets a 32-bit word, and returns its previous value; otherwise like {@link #getAndAddInt}. */
    default int getAndSetInt(long offset, int value) {
        return Words.updateInt("getAndSetInt", this, offset, Words.IntChange.SET, 0, value);
    }

    /** Atomically sets a 32-bit word if it equals {@code expected}; returns whether it did. Otherwise like {@link #getAndAddInt}. */
    default boolean compareAndSetInt(long offset, int expected, int value) {
        return Words.updateInt("compareAndSetInt", this, offset, Words.IntChange.SET_IF_EXPECTED, expected, value)
                == expected;
    }

    /**
     * Returns which nodes store the bytes, ordered by offset; adjacent ranges on one node are joined. Needs {@link Permission#MASTER}:
     * only a master may know where an LMR is stored (paper §4.1).
     *
     * @throws LmrPermissionException when this is not a master's handle
     */
    List<Extent> extents();

    /**
     * Sets the permissions of a principal on this LMR, in place of all former grants to it. When this returns, the principal's existing
     * handles have lost the permissions that the principal no longer has. Several principals may be masters. Needs {@link
     * Permission#MASTER}.
     *
     * @param principal the name of an application in the nodes' configuration; it may still be unknown there
     * @throws LmrPermissionException when this is not a master's handle, or the LMR would lose its last master
     * @throws LimitExceededException when 1,000 principals have other permissions than the default; taking permissions away from
     *     them always works
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws NodeUnreachableException when the LMR is anonymous and the node that created it does not answer
     * @throws LiteTimeoutException when a process with a mapping did not confirm before the deadline; the grant is in effect
     */
    void grant(String principal, Set<Permission> permissions);

    /**
     * Checks what {@link #grant} requires of its arguments.
     *
     * @return a copy of the permissions
     * @throws IllegalArgumentException when the principal's name is blank, is longer than {@value LmrSpec#NAME_BYTES_MAX} bytes of
     *     UTF-8, contains a control character, or is no valid Unicode
     */
    static Set<Permission> checkGrant(String principal, Set<Permission> permissions) {
        Names.require("the principal's name", "principal", principal, LmrSpec.NAME_BYTES_MAX);
        return Permission.copyOf(permissions, "permissions");
    }

    /**
     * Checks the list of a vectored operation.
     *
     * @return a copy, so that the caller cannot change it afterwards
     */
    static List<LmrSlice> checkSlices(List<LmrSlice> slices) {
        for (LmrSlice slice : Objects.requireNonNull(slices, "slices")) {
            Objects.requireNonNull(slice, "slices");
        }
        return List.copyOf(slices);
    }

    /** {@link #grant} of no permission; this also overrides the LMR's default permissions. */
    default void revoke(String principal) {
        grant(principal, Set.of());
    }

    /**
     * Moves all bytes to one node. Handles stay valid: operations during the move wait for its end, up to their deadline, and no byte
     * written before or during the move is lost. Needs {@link Permission#MASTER}.
     *
     * @param node the node's name
     * @throws LmrPermissionException when this is not a master's handle
     * @throws LimitExceededException when that node has too little free memory, or too little for this principal; nothing was moved
     * @throws NodeUnreachableException when the node is not alive or does not answer
     * @throws LmrUnavailableException when another master changed the LMR at the same time, or when bytes of it are lost because their
     *     node restarted with a new arena; nothing was moved
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws LiteTimeoutException when the deadline passed first; the move is completed or undone in the background
     */
    void moveTo(String node);

    /**
     * {@code LT_unmap}: releases the handle; the LMR stays. Waits for operations of other threads on this handle. A second call does
     * nothing; neither does a call after the LMR was freed or the session has ended.
     *
     * @throws LiteTimeoutException when those operations had not ended at the deadline, or the node did not answer; the handle is unusable
     *     from then on, and another call tries again to release it
     */
    void unmap();

    /**
     * {@code LT_free}: frees the LMR for all processes. Nodes with a mapping are notified; the memory is reused only when none of them
     * can access it any more. Returns when the memory is free, or at the deadline; then the node continues in the background. Needs
     * {@link Permission#MASTER}.
     *
     * @throws LmrPermissionException when this is not a master's handle
     * @throws LmrFreedException when the LMR was already freed
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws NodeUnreachableException when the LMR is anonymous and the node that created it does not answer
     */
    void free();

    /**
     * Returns a view of this handle whose data operations have this priority, never above that of the session's principal. Both share
     * the mapping: {@link #unmap} of one ends both. Control operations (grant, move, unmap, free) have no priority. Sends nothing.
     */
    LmrHandle withPriority(Priority priority);

    /**
     * Returns the handle that this one delegates to, for example if it maps its LMR at its first use; otherwise this handle. For
     * implementations of {@link LtMemory}, not for applications.
     */
    default LmrHandle unwrap() {
        return this;
    }

    /** {@link #unmap()}. */
    @Override
    default void close() {
        unmap();
    }
}
