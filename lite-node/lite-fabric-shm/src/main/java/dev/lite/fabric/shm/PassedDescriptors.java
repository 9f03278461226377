package dev.lite.fabric.shm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.lite.os.Linux;
import dev.lite.os.OsException;
import dev.lite.os.Received;
import dev.lite.os.UnixSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The descriptors that a peer passed over a connection's socket, until they are taken. At most {@value #KEPT_MAX} are kept; the
 * next one closes the oldest. Any thread.
 *
 * <p>A message, in native byte order: magic (8 bytes), version (4), kind (4), tag (8), with one descriptor.
 */
final class PassedDescriptors {
    static final int KEPT_MAX = 16;
    static final int NONE = -1;

    private static final int MESSAGE_BYTES = 24;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // Guarded by the lock.
    private final Map<Long, Integer> byTag = new LinkedHashMap<>(); // oldest first
    private boolean closed;

    /**
     * Passes a descriptor to the peer.
     *
     * @throws OsException if the socket was closed or the peer does not read
     */
    static void send(UnixSocket socket, long tag, int descriptor) {
        try (var arena = Arena.ofConfined()) {
            var message = arena.allocate(MESSAGE_BYTES, Long.BYTES);
            message.set(JAVA_LONG, 0, ShmHandshake.MAGIC);
            message.set(JAVA_INT, 8, ShmHandshake.VERSION);
            message.set(JAVA_INT, 12, ShmHandshake.PASS);
            message.set(JAVA_LONG, 16, tag);
            socket.send(message, MESSAGE_BYTES, descriptor);
        }
    }

    /** Keeps the descriptor of a message. Returns false if the message is not a valid pass; it is not used then. */
    boolean add(MemorySegment message, Received received) {
        if (received.length() != MESSAGE_BYTES
                || received.descriptors().length != 1
                || message.get(JAVA_LONG, 0) != ShmHandshake.MAGIC
                || message.get(JAVA_INT, 8) != ShmHandshake.VERSION
                || message.get(JAVA_INT, 12) != ShmHandshake.PASS) {
            return false;
        }
        keep(message.get(JAVA_LONG, 16), received.descriptors()[0]);
        return true;
    }

    private void keep(long tag, int descriptor) {
        lock.lock();
        try {
            if (closed) {
                Linux.closeDescriptor(descriptor);
                return;
            }
            Integer before = byTag.remove(tag);
            if (before == null && byTag.size() == KEPT_MAX) {
                before = byTag.remove(byTag.keySet().iterator().next());
            }
            if (before != null) {
                Linux.closeDescriptor(before);
            }
            byTag.put(tag, descriptor);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a descriptor; the caller owns it. Returns {@link #NONE} after the timeout, when closed, and when interrupted. */
    int take(long tag, long timeoutNs) {
        lock.lock();
        try {
            long leftNs = timeoutNs;
            while (true) {
                Integer descriptor = byTag.remove(tag);
                if (descriptor != null) {
                    return descriptor;
                }
                if (closed || leftNs <= 0) {
                    return NONE;
                }
                leftNs = changed.awaitNanos(leftNs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return NONE;
        } finally {
            lock.unlock();
        }
    }

    /** Closes the descriptors that were not taken, and those that still come. Ends all waits. Idempotent. */
    void close() {
        lock.lock();
        try {
            closed = true;
            byTag.values().forEach(Linux::closeDescriptor);
            byTag.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
