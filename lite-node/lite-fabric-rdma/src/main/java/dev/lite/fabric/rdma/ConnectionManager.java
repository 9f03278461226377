package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.os.DuplicateDescriptor;
import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.os.waiting.Unrecoverable;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection manager's ids and events. One daemon thread waits for events and passes each event to its id. The thread also runs
 * tasks that are too slow for the poll role; no failure ends it. Thread-safe.
 */
final class ConnectionManager implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionManager.class);
    private static final int BACKLOG = 128;
    private static final int EVENTS_MAX = 8;
    private static final int ABORTED = -1;
    private static final long FOREVER_NS = TimeUnit.HOURS.toNanos(1);
    private static final long CLOSE_TIMEOUT_MS = 2_000;

    /** One side of a connection, or the listener. */
    static final class Id {
        private final long handle;
        private final BlockingQueue<Integer> events = new ArrayBlockingQueue<>(EVENTS_MAX);
        private @Nullable RdmaLane lane;

        private Id(long handle) {
            this.handle = handle;
        }

        long handle() {
            return handle;
        }

        /** Sets the lane to notify when the connection ends, or has ended since the last {@link #await}. */
        synchronized void carry(RdmaLane carried) {
            lane = carried;
            for (var event = events.poll(); event != null; event = events.poll()) {
                if (isEnd(event)) {
                    handle(event);
                }
            }
        }

        private static boolean isEnd(int event) {
            return event == Verbs.DISCONNECTED || event == Verbs.DEVICE_REMOVAL;
        }

        /**
         * Waits for an event.
         *
         * @throws HandshakeException if another event arrives, or none before the deadline
         */
        void await(int wanted, Deadline deadline) {
            try {
                var event = events.poll(deadline.remainingNs(), TimeUnit.NANOSECONDS);
                if (event == null) {
                    throw new HandshakeException("it did not answer in time; expected: " + Verbs.describe(wanted));
                }
                if (event == ABORTED) {
                    throw new HandshakeException("this node closed the fabric");
                }
                if (event != wanted) {
                    throw new HandshakeException(Verbs.describe(event));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new HandshakeException("interrupted while connecting", e);
            }
        }

        private synchronized void handle(int event) {
            var carried = lane;
            if (carried != null && isEnd(event)) {
                carried.lost(Verbs.describe(event), FabricError.FLUSHED);
            } else if (event != Verbs.TIME_WAIT_EXIT) {
                boolean unused = events.offer(event);
            }
        }
    }

    private final Verbs verbs;
    private final Consumer<Id> requests;
    private final long channel;
    private final Id listener;
    private final Epoll set = Epoll.create();
    private final EventFd bell = EventFd.create();
    private final DuplicateDescriptor descriptor;
    private final Thread thread;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private volatile boolean closed;

    // Guarded by this object.
    private final Map<Long, Id> ids = new HashMap<>();
    /** Native memory for the ids of an event. */
    private final Arena arena = Arena.ofAuto();

    private final long place = arena.allocate(2 * Long.BYTES, Long.BYTES).address();

    /**
     * Binds to the address, which determines the device.
     *
     * @param requests receives the connection requests of peers, on the manager's thread; must not block
     * @throws VerbsException if the address belongs to no device
     */
    ConnectionManager(String node, Verbs verbs, InetSocketAddress address, Consumer<Id> requests) {
        this.verbs = verbs;
        this.requests = requests;
        thread = RepeatingThread.unstarted("lite-rdma-%s-cm".formatted(node), this::step, LOG::error);
        Id bound = null;
        DuplicateDescriptor duplicate = null;
        try {
            channel = verbs.createEventChannel();
            duplicate = DuplicateDescriptor.of(Verbs.eventChannelDescriptor(channel));
            descriptor = duplicate;
            set.add(descriptor, Epoll.IN, 0);
            set.add(bell, Epoll.IN, 0);
            bound = create();
            listener = bound;
            verbs.bind(bound.handle, address);
        } catch (VerbsException | OsException e) {
            if (bound != null) {
                destroy(bound);
            }
            if (duplicate != null) {
                duplicate.close();
            }
            release();
            throw e;
        }
    }

    private void release() {
        set.close();
        bell.close();
        if (channel != 0) {
            verbs.destroyEventChannel(channel);
        }
    }

    /** The context of the bound device. */
    long context() {
        return verbs.context(listener.handle);
    }

    /** The address that peers connect to. */
    InetSocketAddress address() {
        return verbs.localAddress(listener.handle);
    }

    /** Starts to listen, and starts the thread. */
    void start() {
        verbs.listen(listener.handle, BACKLOG);
        thread.start();
    }

    /** Creates an id for an outgoing connection. */
    synchronized Id create() {
        if (closed) {
            throw new HandshakeException("this node closed the fabric");
        }
        var id = new Id(verbs.createId(channel));
        ids.put(id.handle, id);
        return id;
    }

    /** Destroys an id, whose queue pair must be destroyed already. Rejects the peer if the id was a connection request. */
    synchronized void destroy(Id id) {
        // Under the lock that event dispatch also takes: the next id may have the same handle.
        if (ids.remove(id.handle) != null) {
            verbs.destroyId(id.handle);
        }
    }

    /** Runs a task on the manager's thread. */
    void execute(Runnable task) {
        tasks.add(task);
        bell.signal();
    }

    /** Passes the available events to their ids. Any thread; does not wait for events. */
    synchronized void dispatch() {
        while (!closed) {
            int event = verbs.takeEvent(channel, place);
            if (event < 0) {
                return;
            }
            long handle = dev.lite.os.RawMemory.getLong(place + Long.BYTES);
            if (event == Verbs.CONNECT_REQUEST) {
                var id = new Id(handle);
                ids.put(handle, id);
                try {
                    requests.accept(id);
                } catch (RuntimeException | Error e) {
                    destroy(id); // the peer would wait for an answer
                    throw e;
                }
            } else {
                var id = ids.get(handle);
                if (id != null) {
                    id.handle(event);
                }
            }
        }
    }

    private boolean step() {
        if (closed) {
            return false;
        }
        dispatch();
        runTasks();
        int unused = set.await(FOREVER_NS);
        bell.drain();
        return true;
    }

    /** Aborts all waits for events, refuses new ids, and stops the thread. */
    void stop() {
        List<Id> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(ids.values());
        }
        for (var id : left) {
            boolean unused = id.events.offer(ABORTED);
        }
        bell.signal();
        try {
            thread.join(CLOSE_TIMEOUT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        runTasks();
    }

    private void runTasks() {
        for (var task = tasks.poll(); task != null; task = tasks.poll()) {
            try {
                task.run();
            } catch (RuntimeException | Error e) { // the other tasks are those of other connections
                Unrecoverable.report(e);
                LOG.error("a task of the RDMA connection manager failed", e);
            }
        }
    }

    /** Call after {@link #stop}: destroys the listener, all remaining ids, and the channel. */
    @Override
    public synchronized void close() {
        for (var id : List.copyOf(ids.values())) {
            destroy(id);
        }
        descriptor.close();
        release();
    }
}
