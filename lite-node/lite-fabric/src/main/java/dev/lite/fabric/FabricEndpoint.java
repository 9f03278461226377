package dev.lite.fabric;

import org.jspecify.annotations.Nullable;

/**
 * A connection to one peer. Addresses: {@code remoteOffset} counts from the start of the memory that the peer
 * {@linkplain Fabric#register registered}; {@code localAddress} is a raw address of this process. Any thread may post.
 *
 * <p>The local memory of a post lies in the memory that this node registered: a driver may refuse any other with an
 * {@link IllegalArgumentException}.
 *
 * <p>A post to an endpoint that is not connected answers {@link Post#CLOSED}, whatever it names. On a connected one, a post
 * whose remote range does not lie in {@code [0, remoteSize())} throws {@link IndexOutOfBoundsException} (an empty range lies
 * in it up to and including its end), and one with a word that is not a multiple of 8, or longer than
 * {@link FabricCapabilities#operationBytesMax}, {@link IllegalArgumentException}, before anything is taken. The local
 * address of an empty range is not looked at; that of a result is a multiple of 8.
 *
 * <p>An atomic step is one against every other endpoint's, and against CPU atomics of the memory's owner.
 */
public interface FabricEndpoint {

    /** The peer's hello; empty before {@link FabricHandler#connected}, and kept after {@link #close}. */
    byte[] hello();

    /**
     * The size of the peer's registered memory in bytes; 0 before {@link FabricHandler#connected}, and kept after
     * {@link #close}.
     */
    long remoteSize();

    /**
     * Where the peer's registered memory is mapped into this process so that plain loads, stores and CPU atomics reach
     * it, or 0 when it is not. The mapping stays until the fabric is closed, also after the endpoint was closed or the
     * peer died; whether it may still be used then is the tier's decision.
     */
    long mappedAddress();

    /**
     * Whether the peer's process still has this node's memory mapped, so that no {@link #close} keeps it from it: true from
     * {@link FabricHandler#connected} on until that process has ended, or has closed its fabric in this very process; false
     * with drivers that map nothing. Any thread; may take a system call.
     */
    default boolean isMappedByPeer() {
        return false;
    }

    /** Peer's memory → local memory. */
    Post read(long remoteOffset, long localAddress, long length, long context);

    /** Local memory → peer's memory. Complete when placed. */
    Post write(long remoteOffset, long localAddress, long length, long context);

    /**
     * {@link #write}, then tells the peer's {@link FabricHandler#immediate} the value; a length of 0 writes nothing.
     * Complete when the local memory is needed no more; the data is in its place at the latest when the peer's handler is
     * told, which may be earlier or later than that.
     */
    Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context);

    /** Adds to the peer's 64-bit word in one atomic step; its value before goes to {@code resultAddress}. */
    Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context);

    /**
     * Puts {@code value} into the peer's 64-bit word if it holds {@code expected}, in one atomic step; its value before
     * goes to {@code resultAddress}.
     */
    Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context);

    /** The tier's own object for this peer. */
    @Nullable
    Object attachment();

    /** Sets {@link #attachment}. */
    void attach(@Nullable Object attachment);

    /**
     * Cuts the connection: from the return of this call on, no post of this endpoint touches the peer's memory any more.
     * {@code failed} for what was under way and then {@link FabricHandler#disconnected} follow in {@code poll}. A second
     * call does nothing.
     */
    void close();
}
