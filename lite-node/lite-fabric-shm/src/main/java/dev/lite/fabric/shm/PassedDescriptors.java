package dev.lite.fabric.shm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.lite.fabric.driver.Arrivals;
import dev.lite.os.Linux;
import dev.lite.os.OsException;
import dev.lite.os.Received;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.Polling;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The descriptors that a peer passed over a connection's socket, until they are taken: see {@link Arrivals}. Any
 * thread.
 *
 * <p>A message, in native byte order: magic (8 bytes), version (4), kind (4), tag (8), with one descriptor.
 */
final class PassedDescriptors {
    static final int NONE = -1;

    private static final int MESSAGE_BYTES = 24;

    /** How long a pass waits at most while the peer does not read. */
    private static final long PASS_NS = 1_000_000_000;

    private static final long PAUSE_NS = 1_000_000;

    private final Arrivals<Integer> arrivals = new Arrivals<>(Linux::closeDescriptor);

    /**
     * Passes a descriptor to the peer. Does not block in the system, which would keep the carrier of a virtual thread.
     *
     * @return false if the peer does not read, or this thread is interrupted
     * @throws OsException if the socket was closed
     */
    static boolean send(UnixSocket socket, long tag, int descriptor) {
        try (var arena = Arena.ofConfined()) {
            var message = arena.allocate(MESSAGE_BYTES, Long.BYTES);
            message.set(JAVA_LONG, 0, ShmHandshake.MAGIC);
            message.set(JAVA_INT, 8, ShmHandshake.VERSION);
            message.set(JAVA_INT, 12, ShmHandshake.PASS);
            message.set(JAVA_LONG, 16, tag);
            long endNs = System.nanoTime() + PASS_NS;
            while (!socket.trySend(message, MESSAGE_BYTES, descriptor)) {
                if (endNs - System.nanoTime() <= 0 || Thread.currentThread().isInterrupted()) {
                    return false;
                }
                Polling.sleepNs(PAUSE_NS);
            }
            return true;
        }
    }

    /**
     * Keeps the descriptor of a message, or drops its tag if this process has reached its limit of open ones.
     * Returns false if the message is not a valid pass; it is not used then.
     */
    boolean add(MemorySegment message, Received received) {
        if (received.length() != MESSAGE_BYTES
                || received.descriptors().length != (received.lacksDescriptors() ? 0 : 1)
                || message.get(JAVA_LONG, 0) != ShmHandshake.MAGIC
                || message.get(JAVA_INT, 8) != ShmHandshake.VERSION
                || message.get(JAVA_INT, 12) != ShmHandshake.PASS) {
            return false;
        }
        long tag = message.get(JAVA_LONG, 16);
        if (received.lacksDescriptors()) {
            arrivals.drop(tag);
        } else {
            arrivals.keep(tag, received.descriptors()[0]);
        }
        return true;
    }

    /** Waits for a descriptor; the caller owns it. Returns {@link #NONE} after the timeout, when closed, and when interrupted. */
    int take(long tag, long timeoutNs) {
        Integer descriptor = arrivals.take(tag, timeoutNs);
        return descriptor == null ? NONE : descriptor;
    }

    /** Closes the descriptors that were not taken, and those that still come. Ends all waits. Idempotent. */
    void close() {
        arrivals.close();
    }
}
