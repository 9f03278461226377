package dev.lite.tier;

import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import java.time.Duration;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A handle for the tier's own code. Its operations can also transfer between an LMR and raw addresses of this process,
 * and take the deadline of the application's command. The operations of {@link LmrHandle} use the session's deadline.
 */
public interface TierHandle extends LmrHandle {

    /**
     * {@link #read} into raw memory.
     *
     * @param address of memory that stays valid during the call
     * @param length bytes; checked against the bounds of the LMR
     * @param timeoutNs the maximum wait, in nanoseconds; 0 for the session's deadline
     */
    void read(long offset, long address, long length, long timeoutNs);

    /** {@link #write} from raw memory; see {@link #read(long, long, long, long)}. */
    void write(long offset, long address, long length, long timeoutNs);

    /** Whether operations now wait for a fabric, unless the LMR moves. */
    boolean needsFabric();

    /** Whether operations may have to wait for permits now: see {@link Admission}. */
    boolean mustWait();

    /**
     * Whether an operation that {@linkplain #needsFabric needs a fabric} may now wait before it begins: for the end of a move, for a
     * connection, or for other operations.
     *
     * @param length bytes; the range may be out of bounds
     */
    boolean isHeldUp(long offset, long length);

    @Override
    TierHandle withPriority(Priority priority);

    /**
     * Starts an access that waits for a fabric, without a thread that waits. Does not block.
     *
     * @param access its local memory must stay valid until the end
     * @param timeoutNs the maximum time, in nanoseconds; 0 for the session's deadline
     * @param soon see {@link RemoteMemory#tryStart}
     * @param ended called once, with the failure or null, when the local memory is no longer used; by this thread or another one,
     *     which it must not block
     * @return false if the access was not started: it needs no fabric, or several pieces, or would have to wait
     * @throws dev.lite.api.LiteException if it is refused; it was not started then
     */
    boolean tryStart(Access access, long timeoutNs, boolean soon, Consumer<@Nullable RuntimeException> ended);

    /** {@link #fetchAdd(long, long)} within {@code timeoutNs} nanoseconds; 0 for the session's deadline. */
    long fetchAdd(long offset, long delta, long timeoutNs);

    /** {@link #testSet(long, long, long)} within {@code timeoutNs} nanoseconds; 0 for the session's deadline. */
    long testSet(long offset, long expected, long value, long timeoutNs);

    /** {@link #memset(long, long, byte)} within {@code timeoutNs} nanoseconds; 0 for the session's deadline. */
    void memset(long offset, long length, byte value, long timeoutNs);

    /** {@link #grant(String, Set)} within this deadline. */
    void grant(String principal, Set<Permission> permissions, Duration deadline);

    /** {@link #moveTo(String)} within this deadline. */
    void moveTo(String node, Duration deadline);

    /** {@link #unmap()} within this deadline. */
    void unmap(Duration deadline);

    /** {@link #free()} within this deadline. */
    void free(Duration deadline);
}
