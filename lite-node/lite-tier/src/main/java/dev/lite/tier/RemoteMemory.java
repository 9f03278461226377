package dev.lite.tier;

import dev.lite.os.waiting.Deadline;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Memory of other nodes that is not mapped into this process: every access is posted to the fabric and waited for. Offsets
 * count from the start of the node's arena, lengths are bytes; both were checked by the caller. The arena says which memory
 * is meant: nothing is posted to a node that restarted with another one.
 * Any thread; blocks up to the deadline, but for {@link #tryTransfer}.
 *
 * <p>Every method throws {@link dev.lite.api.LiteTimeoutException} when the deadline passed (a write may have been placed
 * or not then), and {@link dev.lite.api.LmrUnavailableException} when it passed and the cluster does not have the node any more, when the
 * node has another arena now, or when the connection broke and the operation cannot be repeated: an atomic step never, a
 * write while the process lives that may still have it under way. What can be repeated waits for the next connection.
 */
public interface RemoteMemory {

    /** Node's memory → {@code length} bytes of {@code local} from {@code localOffset} on. */
    void read(int node, UUID arena, long offset, MemorySegment local, long localOffset, long length, Deadline deadline);

    /** {@code length} bytes of {@code local} from {@code localOffset} on → node's memory. */
    void write(
            int node, UUID arena, long offset, MemorySegment local, long localOffset, long length, Deadline deadline);

    /**
     * Begins a transfer that nobody waits for, if that takes no waiting: the bytes are few, the node is connected, and there is
     * room. It may wait once it is under way, as {@link #read} does.
     *
     * @param write whether the bytes go there; they are taken from {@code local} before it returns true
     * @param local as many bytes as are transferred
     * @param ended called once with how it ended, null when the bytes are there; by any thread, also the caller's. Must not block
     * @return false when it was not begun: {@link #read} or {@link #write} can do it
     */
    boolean tryTransfer(
            boolean write,
            int node,
            UUID arena,
            long offset,
            MemorySegment local,
            Deadline deadline,
            Consumer<@Nullable RuntimeException> ended);

    /** See {@link dev.lite.api.LmrHandle#fetchAdd}. */
    long fetchAdd(int node, UUID arena, long offset, long delta, Deadline deadline);

    /** See {@link dev.lite.api.LmrHandle#testSet}. */
    long testSet(int node, UUID arena, long offset, long expected, long value, Deadline deadline);

    /**
     * Waits until no operation that was given up at its deadline can still touch a node's memory.
     *
     * @return false when some still can at the deadline
     */
    boolean awaitGivenUp(Deadline deadline);
}
