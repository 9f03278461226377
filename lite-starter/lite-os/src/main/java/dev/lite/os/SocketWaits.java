package dev.lite.os;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.waiting.RepeatingThread;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Waits for many sockets, with one platform thread for all of them. A virtual thread that waits here holds no carrier. So a process may
 * have any number of connections with a constant number of platform threads. Any thread may call.
 */
public final class SocketWaits implements AutoCloseable {
    private static final long CLOSED = 0;

    private final Epoll set = Epoll.create();
    private final EventFd closing;
    private final Map<Long, Watched> sockets = new ConcurrentHashMap<>();
    private final AtomicLong lastKey = new AtomicLong(CLOSED);
    private final Thread thread;
    private volatile boolean closed;

    /**
     * Starts the thread.
     *
     * @param threadName the thread's name
     * @param log receives a message and a failure of the thread, which continues
     * @throws OsException EMFILE when the process has no descriptor left
     */
    public SocketWaits(String threadName, BiConsumer<String, Throwable> log) {
        thread = RepeatingThread.unstarted(threadName, this::step, log);
        EventFd created = null;
        boolean started = false;
        try {
            created = EventFd.create();
            set.add(created, Epoll.IN, CLOSED);
            closing = created;
            thread.start();
            started = true;
        } finally {
            if (!started) {
                set.close();
                if (created != null) {
                    created.close();
                }
            }
        }
    }

    /**
     * Takes a socket into the set. The caller still owns it; it closes the returned object before the socket.
     *
     * @throws OsException EBADF when the socket or this object is closed, ENOSPC or ENOMEM when the system has no room
     */
    public Watched watch(UnixSocket socket) {
        long key = lastKey.incrementAndGet();
        var watched = new Watched(socket, key);
        sockets.put(key, watched);
        boolean added = false;
        try {
            set.add(socket, Epoll.ONCE, key);
            added = true;
        } finally {
            if (!added) {
                sockets.remove(key);
            }
        }
        return watched;
    }

    private boolean step() {
        int ready = set.await(Long.MAX_VALUE);
        if (closed) {
            return false;
        }
        for (int i = 0; i < ready; i++) {
            Watched watched = sockets.get(set.key(i));
            if (watched != null) {
                watched.ready(set.isReadable(i), set.isWritable(i));
            }
        }
        return true;
    }

    /** Ends the thread. Waits that have not ended fail with EBADF. */
    @Override
    public void close() {
        closed = true;
        closing.signal();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException kept) {
                interrupted = true;
            }
        }
        set.close();
        closing.close();
        sockets.values().forEach(Watched::close);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** A socket of the set. One thread may wait until it is readable, and one until it is writable. */
    public final class Watched implements AutoCloseable {
        private final UnixSocket socket;
        private final long key;

        @GuardedBy("this")
        private @Nullable Thread reader;

        @GuardedBy("this")
        private @Nullable Thread writer;

        private volatile boolean ended;

        private Watched(UnixSocket socket, long key) {
            this.socket = socket;
            this.key = key;
        }

        /**
         * Waits until a message or the end of the connection can be received. An interrupt does not end the wait; it stays set.
         *
         * @param timeoutNs nanoseconds; at most {@link Long#MAX_VALUE}, which is without limit
         * @throws OsException EAGAIN after the timeout, EBADF when the socket, this object or the set is closed
         */
        public void awaitReadable(long timeoutNs) {
            await(true, timeoutNs);
        }

        /** {@link #awaitReadable}, until a message can be sent or the connection has ended. */
        public void awaitWritable(long timeoutNs) {
            await(false, timeoutNs);
        }

        private void await(boolean reads, long timeoutNs) {
            Thread me = Thread.currentThread();
            long beginNs = System.nanoTime();
            boolean interrupted = false;
            begin(reads, me);
            try {
                while (waits(reads, me)) {
                    long leftNs = timeoutNs - (System.nanoTime() - beginNs);
                    if (leftNs <= 0) {
                        throw new OsException(
                                "wait(%s)".formatted(socket),
                                Errno.EAGAIN,
                                "it was not ready for %d ns".formatted(timeoutNs),
                                null);
                    }
                    LockSupport.parkNanos(this, leftNs);
                    interrupted |= Thread.interrupted();
                }
                requireOpen();
            } finally {
                end(reads, me);
                if (interrupted) {
                    me.interrupt();
                }
            }
        }

        private void requireOpen() {
            if (ended) {
                throw new OsException("wait(%s)".formatted(socket), Errno.EBADF, "the socket is closed", null);
            }
        }

        private synchronized void begin(boolean reads, Thread me) {
            requireOpen();
            Thread before = reads ? reader : writer;
            if (before != null) {
                throw new IllegalStateException("%s waits already for %s".formatted(before, socket));
            }
            if (reads) {
                reader = me;
            } else {
                writer = me;
            }
            boolean armed = false;
            try {
                arm();
                armed = true;
            } finally {
                if (!armed) {
                    end(reads, me);
                }
            }
        }

        private synchronized boolean waits(boolean reads, Thread me) {
            return !ended && (reads ? reader : writer) == me;
        }

        private synchronized void end(boolean reads, Thread me) {
            if (reads && reader == me) {
                reader = null;
            } else if (!reads && writer == me) {
                writer = null;
            }
        }

        @GuardedBy("this")
        private void arm() {
            int interest = (reader == null ? 0 : Epoll.IN) | (writer == null ? 0 : Epoll.OUT);
            set.modify(socket, interest | Epoll.ONCE, key);
        }

        private synchronized void ready(boolean readable, boolean writable) {
            if (readable && reader != null) {
                LockSupport.unpark(reader);
                reader = null;
            }
            if (writable && writer != null) {
                LockSupport.unpark(writer);
                writer = null;
            }
            if (!ended && (reader != null || writer != null)) {
                try {
                    arm(); // the event was reported once
                } catch (OsException closedMeanwhile) {
                    close();
                }
            }
        }

        /** Takes the socket out of the set. Ends its waits. Idempotent. */
        @Override
        public synchronized void close() {
            if (ended) {
                return;
            }
            ended = true;
            sockets.remove(key);
            try {
                set.remove(socket);
            } catch (OsException gone) {
                // The socket or the set is closed.
            }
            LockSupport.unpark(reader);
            LockSupport.unpark(writer);
        }
    }
}
