package dev.lite.fabric.tcp;

/**
 * Bytes to and from a peer, as they are or encrypted. Never blocks, except in the methods whose names begin with {@code await}. One thread at a time sends, one
 * receives; any thread ends it. Failures are {@link dev.lite.os.OsException}s or {@link WireException}s.
 */
interface Wire {
    /** What {@link #receive} answers when nothing comes any more. */
    long END = -1;

    /** How many bytes of this range were taken; 0 when there is no room. */
    long send(long address, long length);

    /** How many bytes were taken of {@code count} ranges, each an address and a length of 8 bytes at {@code iovec}. */
    long sendVector(long iovec, int count);

    /**
     * How many bytes were put at the address; 0 when there are none now, {@link #END} when none will come. Less than
     * asked for does not mean that there is no more.
     */
    long receive(long address, long length);

    /** Whether the last {@link #receive} emptied the socket, as far as is known without a system call. The receiving thread. */
    default boolean isDrained() {
        return false;
    }

    /** Blocks, bounded, until {@link #receive} may bring something. Nanoseconds. */
    boolean awaitReadable(long timeoutNs);

    /** Blocks, bounded, until {@link #send} may take something. Nanoseconds. */
    boolean awaitWritable(long timeoutNs);

    /** Ends the output, which the peer sees. */
    void endOutput();

    /** Blocks, bounded, until the peer ended its output or is gone. Nanoseconds. */
    boolean awaitPeerEnd(long timeoutNs);

    /** Whether the connection was reset, whatever there is still to be received. */
    boolean isReset();

    /** Ends it in both directions; blocked calls return. */
    void shutdown();

    /** Resets the connection, which the peer sees at once, and releases what this holds. */
    void abort();
}
