package dev.lite.os.wire;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Sends bytes to a peer and receives bytes from it, plain or encrypted. Only methods whose names begin with
 * {@code await} block. One thread at a time sends, one receives; any thread may shut the wire down. Failures are
 * {@link dev.lite.os.OsException}s or {@link WireException}s.
 */
public interface Wire {
    /** Result of {@link #receive} at the end of the input. */
    long END = -1;

    /** Sends a range; returns the number of bytes taken, 0 if there is no room. */
    long send(long address, long length);

    /**
     * Sends {@code count} ranges, each an 8-byte address and an 8-byte length at {@code iovec}; returns the bytes
     * taken.
     */
    long sendVector(long iovec, int count);

    /**
     * Receives bytes at the address. Returns their number, 0 if there are none now, {@link #END} if none will come.
     * There may be more even if it returns less than {@code length}.
     */
    long receive(long address, long length);

    /**
     * Whether the last {@link #receive} emptied the socket, as far as known without a system call. Receiving thread.
     */
    default boolean isDrained() {
        return false;
    }

    /**
     * How many records {@link #receive} has decrypted. A record of one byte takes about as much time as one of a few
     * thousand bytes. Stays 0 without encryption. Receiving thread.
     */
    default long records() {
        return 0;
    }

    /** Blocks until {@link #receive} may return something, or until the timeout. */
    boolean awaitReadable(long timeoutNs);

    /** Blocks until {@link #send} may take something, or until the timeout. */
    boolean awaitWritable(long timeoutNs);

    /** Ends the output, which the peer sees. */
    void endOutput();

    /** Blocks until the peer ended its output or is gone, or until the timeout. */
    boolean awaitPeerEnd(long timeoutNs);

    /** What a signature over this connection covers, so that it fits no other one; empty without encryption. After the wire's own handshake. */
    default byte[] binding() {
        return new byte[0];
    }

    /** The names in the peer's certificate; null without one. After the wire's own handshake. */
    default @Nullable Set<String> certifiedNames() {
        return null;
    }

    /** Whether the connection was reset, even if there is unread input. */
    boolean isReset();

    /** Shuts down both directions; blocked calls return. */
    void shutdown();

    /** Resets the connection, which the peer sees at once, and releases all resources. */
    void abort();
}
