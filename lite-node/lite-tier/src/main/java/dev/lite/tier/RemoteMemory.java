package dev.lite.tier;

import dev.lite.os.waiting.Deadline;
import dev.lite.session.async.PollingHelp;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Memory of other nodes that is not mapped into this process: a method posts the access to the fabric and waits for it.
 * Offsets count from the start of the node's arena; lengths are bytes. The caller has checked both. The arena id names
 * the memory: nothing is posted to a node that restarted with another arena. Any thread. The methods that have a deadline
 * block up to it, except {@link #tryStart}.
 *
 * <p>Every method throws {@link dev.lite.api.LiteTimeoutException} if the deadline passed; a write may or may not have
 * reached the memory then. It throws {@link dev.lite.api.LmrUnavailableException} in these cases:
 *
 * <ul>
 *   <li>the deadline passed and the node is no longer in the cluster;
 *   <li>the node has another arena now;
 *   <li>the connection broke and the operation is not repeatable. An atomic operation never is. A write is not while
 *       the process that may still have it in flight lives.
 * </ul>
 *
 * <p>A repeatable operation waits for the next connection.
 */
public interface RemoteMemory {

    /** Node's memory → {@code length} bytes of {@code local} from {@code localOffset} on. */
    void read(int node, UUID arena, long offset, MemorySegment local, long localOffset, long length, Deadline deadline);

    /** {@code length} bytes of {@code local} from {@code localOffset} on → node's memory. */
    default void write(
            int node, UUID arena, long offset, MemorySegment local, long localOffset, long length, Deadline deadline) {
        write(node, arena, offset, local, localOffset, length, null, deadline);
    }

    /**
     * {@link #write(int, UUID, long, MemorySegment, long, long, Deadline)} that waits for a connection only while it is wanted.
     *
     * @param notWanted returns why it is not wanted any more, or null; asked a few times a second. Null if it is always wanted
     * @throws dev.lite.api.LmrUnavailableException also if it is not wanted any more while there is no connection
     */
    void write(
            int node,
            UUID arena,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            @Nullable Supplier<@Nullable String> notWanted,
            Deadline deadline);

    /**
     * Starts an access that no thread waits for, if it can start without waiting: the bytes are few, the node is connected, and a
     * buffer is free. Once started, a read or a write may wait as {@link #read} does. An atomic operation is not repeated if the
     * connection breaks.
     *
     * @param access bytes to write are copied before the method returns true; the local memory must stay valid until the end
     * @param soon whether this thread will start another one or poll within microseconds, so that both may be sent together
     * @param ended called once with the failure, or with null on success. Any thread may call it, also the caller's. It
     *     must not block
     * @return false if the access did not start; then use one of the methods that wait
     */
    boolean tryStart(
            int node,
            UUID arena,
            Access access,
            Deadline deadline,
            boolean soon,
            Consumer<@Nullable RuntimeException> ended);

    /** Whether an operation that starts now may wait before it is posted: for a connection to the node, or for operations to end. */
    boolean mayWait(int node);

    /** Lets a thread that waits for accesses of {@link #tryStart} poll for them itself. */
    PollingHelp polling();

    /** See {@link dev.lite.api.LmrHandle#fetchAdd}. */
    long fetchAdd(int node, UUID arena, long offset, long delta, Deadline deadline);

    /** See {@link dev.lite.api.LmrHandle#testSet}. */
    long testSet(int node, UUID arena, long offset, long expected, long value, Deadline deadline);

    /**
     * Waits until operations abandoned at their deadlines can no longer touch a node's memory.
     *
     * @return false if one still can at the deadline
     */
    boolean awaitGivenUp(Deadline deadline);
}
