package dev.lite.fabric;

import org.jspecify.annotations.Nullable;

/**
 * A connection to one peer. {@code remoteOffset} counts from the start of the memory that the peer
 * {@linkplain Fabric#register registered}; {@code localAddress} is a raw address of this process. Any thread may post.
 *
 * <p>A post is checked in this order, before the driver takes anything:
 *
 * <ul>
 *   <li>The endpoint is not connected: the answer is {@link Post#CLOSED}, whatever the arguments.
 *   <li>The remote range does not lie in {@code [0, remoteSize())}: {@link IndexOutOfBoundsException}. An empty range may also
 *       begin at the end of the memory.
 *   <li>The offset of a word is not a multiple of 8, or the length exceeds {@link FabricCapabilities#operationBytesMax}:
 *       {@link IllegalArgumentException}.
 *   <li>The local memory does not lie in the memory that this node registered: a driver may throw
 *       {@link IllegalArgumentException}. The local address of an empty range is ignored.
 * </ul>
 *
 * <p>The address of a result is a multiple of 8. Atomic operations are atomic with respect to those of every other endpoint, and
 * to CPU atomics of the memory's owner.
 */
public interface FabricEndpoint {

    /** A copy of the peer's hello; empty before {@link FabricHandler#connected}, and kept after {@link #close}. */
    byte[] hello();

    /**
     * The size of the peer's registered memory in bytes; 0 before {@link FabricHandler#connected}, and kept after
     * {@link #close}.
     */
    long remoteSize();

    /**
     * The number of connections to the peer that share its operations, at least 1; 0 before {@link FabricHandler#connected}.
     * Both ends have the same number. Any thread.
     */
    default int laneCount() {
        return remoteSize() == 0 ? 0 : 1;
    }

    /**
     * This connection, with its reads and writes on some of its lanes only. Immediates and atomic operations stay on the first
     * lane of the connection, since their order matters. Posts, completions and {@link #close} belong to this endpoint. Any
     * thread; costs little.
     *
     * @param first the first lane, from 0
     * @param count at least 1; the lanes are below {@link #laneCount}
     * @return this endpoint if the driver cannot tell its lanes apart, or is not connected: see {@link
     *     FabricCapabilities#lanesMax}
     */
    default FabricEndpoint onLanes(int first, int count) {
        return this;
    }

    /**
     * The address at which the peer's registered memory is mapped into this process, for plain loads, stores and CPU
     * atomics, or 0 if it is not mapped. The mapping stays until it is {@linkplain Fabric#unmap unmapped} or the fabric is closed,
     * even after the endpoint was closed or the peer died; the tier decides whether it may still be used then.
     */
    long mappedAddress();

    /**
     * Whether the peer still has this node's memory mapped, which no {@link #close} can prevent. True from
     * {@link FabricHandler#connected} until the peer has closed its fabric or its process has ended; false if the peer is in
     * this process, or the driver maps nothing. Any thread; may make a system call.
     */
    default boolean isMappedByPeer() {
        return false;
    }

    /** Whether {@link #passDescriptor} can pass descriptors to this peer; constant. */
    default boolean passesDescriptors() {
        return false;
    }

    /**
     * Passes an open file descriptor to the peer, which takes it by its tag. The caller keeps its own, which must stay open during
     * the call. Any thread; waits for a second at most.
     *
     * @param tag chosen by the caller, different for each pass over this connection
     * @return false if the driver cannot pass descriptors, the endpoint is not connected, or the peer does not read
     */
    default boolean passDescriptor(long tag, int descriptor) {
        return false;
    }

    /**
     * Takes a descriptor that the peer passed; waits for it. At most 16 passed ones are kept until they are taken, and then the
     * oldest is closed. All that were not taken are closed when the endpoint ends. Any thread.
     *
     * @param tag the peer's tag
     * @param timeoutNs nanoseconds, not negative
     * @return the descriptor, which the caller must close; -1 if none came in time, or the endpoint is not connected
     */
    default int takeDescriptor(long tag, long timeoutNs) {
        return -1;
    }

    /** Whether {@link #openStream} can open streams to this peer; constant. */
    default boolean opensStreams() {
        return false;
    }

    /**
     * Opens a stream to the peer: a TCP connection of its own, which neither node uses. Both sides call this with the same tag. The side
     * that made this connection connects once more, to the same address; the other side waits for that. At most 16 streams that arrived are
     * kept until they are taken, and then the oldest is closed. All that were not taken are closed when the endpoint ends. Any thread, also
     * a virtual one; blocks until the timeout at most.
     *
     * @param tag chosen by the callers, different for each stream over this connection
     * @param timeoutNs nanoseconds, not negative
     * @return the stream, whose descriptor the caller must close; null if there was none in time, the driver opens no streams, the endpoint
     *     is not connected or ends meanwhile, the peer refuses, this node is just opening 16 others, or the thread is interrupted, and then
     *     it stays interrupted
     */
    default @Nullable FabricStream openStream(long tag, long timeoutNs) {
        return null;
    }

    /**
     * Nobody here wants this stream any more: ends {@link #openStream}, and closes the stream if it has come and was not taken, or still
     * comes. Any thread; never blocks.
     *
     * @param tag of the stream; the last {@value dev.lite.fabric.driver.Arrivals#DROPPED_MAX} are known
     */
    default void dropStream(long tag) {}

    /** Copies from the peer's memory to local memory. */
    Post read(long remoteOffset, long localAddress, long length, long context);

    /** Copies from local memory to the peer's memory. Complete when the data is in place there. */
    Post write(long remoteOffset, long localAddress, long length, long context);

    /**
     * Like {@link #write}, and then passes the value to the peer's {@link FabricHandler#immediate}. A length of 0 writes
     * nothing. Complete when the driver no longer needs the local memory, which may be before or after the peer's handler is
     * called; the data is in place before that call.
     */
    Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context);

    /**
     * {@link #read} for a thread that will post to this peer or poll again within microseconds. The driver may send both
     * together. If the thread does neither, the thread in {@link Fabric#awaitArmed} sends, about half a millisecond later.
     */
    default Post readSoon(long remoteOffset, long localAddress, long length, long context) {
        return read(remoteOffset, localAddress, length, context);
    }

    /** {@link #write} as in {@link #readSoon}. */
    default Post writeSoon(long remoteOffset, long localAddress, long length, long context) {
        return write(remoteOffset, localAddress, length, context);
    }

    /** {@link #writeImm} as in {@link #readSoon}. */
    default Post writeImmSoon(long remoteOffset, long localAddress, long length, int immediate, long context) {
        return writeImm(remoteOffset, localAddress, length, immediate, context);
    }

    /** Atomically adds to the peer's 64-bit word, and stores its previous value at {@code resultAddress}. */
    Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context);

    /**
     * Atomically replaces the peer's 64-bit word by {@code value} if it is {@code expected}, and stores its previous value at
     * {@code resultAddress}.
     */
    Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context);

    /** {@link #fetchAdd} as in {@link #readSoon}. */
    default Post fetchAddSoon(long remoteOffset, long delta, long resultAddress, long context) {
        return fetchAdd(remoteOffset, delta, resultAddress, context);
    }

    /** {@link #compareAndSwap} as in {@link #readSoon}. */
    default Post compareAndSwapSoon(long remoteOffset, long expected, long value, long resultAddress, long context) {
        return compareAndSwap(remoteOffset, expected, value, resultAddress, context);
    }

    /** The tier's own object for this peer. */
    @Nullable
    Object attachment();

    /** Sets {@link #attachment}. */
    void attach(@Nullable Object attachment);

    /**
     * Closes the connection: once this has returned, no post of this endpoint touches the peer's memory any more. In
     * {@code poll}, {@code failed} follows for outstanding operations, and then {@link FabricHandler#disconnected}. A second
     * call does nothing. Any thread; blocks for 100 ms at most.
     */
    void close();
}
