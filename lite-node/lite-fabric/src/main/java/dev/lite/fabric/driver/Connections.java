package dev.lite.fabric.driver;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All connections of a fabric, from {@link #connect} or {@link #accept} to {@code disconnected}.
 *
 * <p>Daemon threads make connections, one thread per connection. They queue the events of an endpoint, and {@link #poll} calls the handler
 * in this order: {@code connected}, what the driver delivers, {@code failed} for posts that are outstanding at the end,
 * {@code disconnected}. The handler never sees an accepted endpoint whose handshake failed.
 *
 * <p><b>Bounds.</b> The number of endpoints is limited; each has one thread while it is being made. The queue has at most two entries per
 * endpoint, one per connect over the limit, and the tasks that the driver adds by {@link #inPollRole}.
 *
 * <p><b>Threads.</b> Any, except where a method says "poll role".
 *
 * @param <E> the driver's endpoints
 * @param <L> what its connections consist of
 */
public final class Connections<E extends DriverEndpoint<L>, L extends DriverLink> {
    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    private static final String CLOSED = "this node closed the fabric";

    /**
     * What a driver does when connections open and end. Poll role, except {@link #discard} and {@link #wake}.
     *
     * @param <E> its endpoints
     * @param <L> what its connections consist of
     */
    public interface Driver<E, L> {

        /** Starts to poll a connection. The handler is called next. */
        void opened(E endpoint, L link);

        /**
         * An endpoint ended. After an error, {@link DriverEndpoint#flush} begins.
         *
         * @return whether {@link DriverEndpoint#flush} may begin; otherwise the driver calls {@link Connections#flush} later
         */
        boolean ended(E endpoint);

        /** An endpoint is flushed: stops polling it, and releases its link if it has one. The handler is called next. */
        void finished(E endpoint);

        /** Releases a link that was never given to its endpoint. Any thread. */
        void discard(L link);

        /** Wakes the threads that wait for this fabric, so that they poll. Any thread. */
        void wake();
    }

    /** Work for the poll role. */
    private static final class Step {
        /** Returns how many calls of the handler it made. */
        final IntSupplier work;

        @Nullable
        Step next; // guarded by the connections

        Step(IntSupplier work) {
            this.work = work;
        }
    }

    private final String fabric;
    private final String node;
    private final ConnectionLimits limits;
    private final FabricHandler handler;
    private final Driver<E, L> driver;
    private final Consumer<Thread> starter;

    // Written under this object's lock.
    /** The steps for the poll role. */
    private volatile @Nullable Step firstStep;

    private @Nullable Step lastStep;
    private volatile @Nullable Connector<E> connector;
    private volatile boolean closed;
    private final Set<E> endpoints = new HashSet<>();
    private final Set<Thread> threads = new HashSet<>();

    /** Poll role: ended endpoints that are being flushed. */
    private final ArrayDeque<E> ending;

    /**
     * @param fabric the driver's name, for thread names
     * @param node the local node's name
     */
    public Connections(
            String fabric, String node, ConnectionLimits limits, FabricHandler handler, Driver<E, L> driver) {
        this(fabric, node, limits, handler, driver, Thread::start);
    }

    /** For tests: the system may refuse to start a thread. */
    Connections(
            String fabric,
            String node,
            ConnectionLimits limits,
            FabricHandler handler,
            Driver<E, L> driver,
            Consumer<Thread> starter) {
        this.starter = starter;
        this.fabric = fabric;
        this.node = node;
        this.limits = limits;
        this.handler = handler;
        this.driver = driver;
        this.ending = new ArrayDeque<>(limits.connectionsMax() + 1); // an end should need no memory
    }

    /** The local node's name. */
    public String node() {
        return node;
    }

    /** Maximum number of endpoints. */
    int connectionsMax() {
        return limits.connectionsMax();
    }

    /** Logs a failure of the thread that accepts peers. */
    public void cannotAccept(Throwable e) {
        LOG.warn("{}: cannot accept a peer now: {}", node, e instanceof OsException ? e.getMessage() : e);
    }

    /**
     * Checks that {@link #start} is allowed.
     *
     * @throws IllegalStateException if it was called already, or this is closed
     */
    public void requireNew() {
        if (connector != null || closed) {
            throw new IllegalStateException("memory can be registered only once, and only while the fabric is open");
        }
    }

    /** Starts to make and accept connections. If it throws, the connector is stopped, and another one may start. */
    public void start(Connector<E> started) {
        synchronized (this) {
            requireNew();
            connector = started;
        }
        try {
            started.start();
        } catch (RuntimeException | Error e) { // such as: no memory for a thread that accepts peers
            connector = null;
            attempt(
                    () -> { // nobody else would: it listens already
                        started.stop();
                        return 0;
                    });
            throw e;
        }
    }

    /** Whether {@link #close} was called. */
    public boolean isClosed() {
        return closed;
    }

    // Making connections.

    /**
     * Starts a connection; the outcome comes by {@link #poll}.
     *
     * @throws IllegalStateException before {@link #start} and after {@link #close}
     */
    public E connect(String address) {
        Connector<E> current = connector;
        if (current == null || closed) {
            throw new IllegalStateException("cannot connect: the fabric is closed or has no memory registered");
        }
        String failed = "cannot connect to " + address;
        E endpoint = create(current, false);
        if (!add(endpoint)) {
            endpoint.lost(limitReached(), FabricError.FLUSHED);
            return endpoint;
        }
        try {
            // refused: close() ends the endpoint
            boolean unused = run("connect", () -> connect(current, endpoint, address, failed));
        } catch (RuntimeException | Error e) { // such as: no memory for another thread
            failed(endpoint, failed, e);
        }
        return endpoint;
    }

    private void connect(Connector<E> current, E endpoint, String address, String failed) {
        try {
            current.connect(endpoint, address, handshakeDeadline());
        } catch (RuntimeException | Error e) {
            // Catches anything, even what a bug in the driver causes, because every endpoint must end.
            failed(endpoint, failed, e);
        }
    }

    private void failed(E endpoint, String what, Throwable e) {
        Unrecoverable.report(e);
        endpoint.lost(what, e);
    }

    /**
     * A new endpoint for a connection that a peer made. It counts towards the limit until it is {@linkplain #forget forgotten} or finished.
     *
     * @throws HandshakeException at the limit, which the message names; it may be sent to the peer
     */
    public E accept() {
        Connector<E> current = connector;
        if (current == null) {
            throw new HandshakeException(CLOSED);
        }
        E endpoint = create(current, true);
        if (!add(endpoint)) {
            throw new HandshakeException(closed ? CLOSED : limitReached());
        }
        return endpoint;
    }

    private E create(Connector<E> current, boolean accepted) {
        E endpoint = current.create(accepted);
        Step end = new Step(() -> ended(endpoint)); // now: without memory at its end, nobody would learn of that
        endpoint.whenEnded(() -> {
            boolean unused = offer(end); // refused when closed: close() calls the handler
        });
        return endpoint;
    }

    /**
     * An endpoint that was not forgotten, whether it is connected or not; null if none fits. Any thread.
     *
     * @param fits called under a lock; must not block
     */
    public synchronized @Nullable E find(Predicate<E> fits) {
        for (E endpoint : endpoints) {
            if (fits.test(endpoint)) {
                return endpoint;
            }
        }
        return null;
    }

    /** Forgets an accepted endpoint whose handshake failed. */
    public synchronized void forget(E endpoint) {
        endpoints.remove(endpoint);
    }

    /**
     * Called when the handshake of an endpoint is done. Takes over the link, also if it fails; then the caller ends
     * the endpoint.
     *
     * @return false if the fabric is closed; then the link was discarded
     */
    public boolean ready(E endpoint, L link) {
        boolean queued = false;
        try {
            queued = queue(new Step(() -> opened(endpoint, link)));
        } finally {
            if (!queued) { // also without memory for it
                driver.discard(link);
            }
        }
        if (queued) {
            driver.wake();
        }
        return queued;
    }

    /** The deadline of a handshake that starts now. */
    public Deadline handshakeDeadline() {
        return Deadline.in(Duration.ofMillis(limits.handshakeTimeoutMs()));
    }

    /** The deadline until which a peer that connects now must have proved that it knows the secret. */
    public Deadline proofDeadline() {
        return Deadline.in(Duration.ofMillis(Math.max(1, limits.handshakeTimeoutMs() / 2)));
    }

    private synchronized boolean add(E endpoint) {
        return !closed && endpoints.size() < limits.connectionsMax() && endpoints.add(endpoint);
    }

    private String limitReached() {
        return "node %s already has %d connections, the limit (%s)"
                .formatted(node, limits.connectionsMax(), ConnectionLimits.CONNECTIONS_MAX);
    }

    /**
     * Runs a task on a daemon thread of its own, which {@link #close} waits for.
     *
     * @return false if this is closed; then the task does not run
     * @throws Error if the system starts no further thread; then the task does not run
     */
    public synchronized boolean run(String role, Runnable task) {
        if (closed) {
            return false;
        }
        Thread thread = Thread.ofPlatform()
                .daemon()
                .name("lite-%s-%s-%s".formatted(fabric, node, role))
                .unstarted(() -> {
                    try {
                        task.run();
                    } finally {
                        threadEnds();
                    }
                });
        starter.accept(thread);
        threads.add(thread); // under the lock that threadEnds takes, too
        return true;
    }

    private synchronized void threadEnds() {
        threads.remove(Thread.currentThread());
    }

    // The poll role.

    /**
     * Queues a task of the driver's to run in {@link #poll}.
     *
     * @return false if this is closed; then the task does not run
     */
    public boolean inPollRole(Runnable task) {
        return offer(new Step(() -> {
            task.run();
            return 0;
        }));
    }

    private boolean offer(Step step) {
        boolean queued = queue(step);
        if (queued) {
            driver.wake();
        }
        return queued;
    }

    private synchronized boolean queue(Step step) {
        if (closed) {
            return false;
        }
        Step last = lastStep;
        if (last == null) {
            firstStep = step;
        } else {
            last.next = step;
        }
        lastStep = step;
        return true;
    }

    private @Nullable Step takeStep() {
        return firstStep == null ? null : removeStep();
    }

    private synchronized @Nullable Step removeStep() {
        Step step = firstStep;
        if (step != null) {
            firstStep = step.next;
            step.next = null; // an endpoint keeps its step
            if (firstStep == null) {
                lastStep = null;
            }
        }
        return step;
    }

    /** Poll role: whether {@link #poll} has something to do. */
    public boolean hasWork() {
        return firstStep != null || !ending.isEmpty();
    }

    /** Poll role: reports connections that opened or ended to the handler, in at most {@code limit} calls. Returns how many. */
    public int poll(int limit) {
        int handed = 0;
        while (handed < limit && !closed) {
            Step step = takeStep();
            if (step == null) {
                break;
            }
            handed += step.work.getAsInt();
        }
        return ending.isEmpty() ? handed : handed + flushEnded(limit - handed);
    }

    private int opened(E endpoint, L link) {
        if (closed || !endpoint.isConnecting()) {
            // Closed during the handshake.
            driver.discard(link);
            return 0;
        }
        try {
            driver.opened(endpoint, link);
        } catch (RuntimeException | Error e) { // the system may refuse to watch one more socket, for example
            Unrecoverable.report(e);
            driver.discard(link);
            endpoint.lost("the connection cannot be used", e);
            return 0;
        }
        if (!endpoint.open(link)) {
            return 0;
        }
        handler.connected(endpoint, endpoint.isAccepted());
        return 1;
    }

    private int ended(E endpoint) {
        if (!closed) {
            endpoint.beginEnding();
            boolean now = true;
            try {
                now = driver.ended(endpoint);
            } finally { // also after an error of the driver: the posts must not wait for ever
                if (now) {
                    flush(endpoint);
                }
            }
        }
        return 0;
    }

    /** Poll role: starts to flush an endpoint for which {@link Driver#ended} returned false. */
    public void flush(E endpoint) {
        ending.add(endpoint);
    }

    private int flushEnded(int limit) {
        int handed = 0;
        while (handed < limit && !ending.isEmpty()) {
            E endpoint = ending.remove();
            try {
                handed += endpoint.flush(handler, limit - handed);
                if (handed < limit) {
                    handed += finish(endpoint);
                }
            } finally { // also after an error of the handler: its other posts must not wait for ever
                if (!endpoint.isFinished()) {
                    ending.add(endpoint); // last, so that each endpoint gets its turn
                }
            }
        }
        return handed;
    }

    private int finish(E endpoint) {
        if (endpoint.isFinished()) {
            return 0;
        }
        String reason = endpoint.finish();
        try {
            driver.finished(endpoint);
        } finally { // also after an error of the driver: nobody would tell the handler later
            forget(endpoint);
            if (reason != null) {
                handler.disconnected(endpoint, reason);
            }
        }
        return reason == null ? 0 : 1;
    }

    // Closing.

    /**
     * Stops accepting, ends and flushes every endpoint, and calls the handler on this thread, which holds the poll role. Waits
     * at most 5 s for the threads that make connections. Once.
     *
     * @return whether all of those threads ended, so that no other thread uses the transport any more
     */
    public boolean close() {
        List<E> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(endpoints);
        }
        Connector<E> current = connector;
        if (current == null) {
            return true;
        }
        attempt(() -> {
            current.stop();
            return 0;
        });
        Deadline deadline = Deadline.in(DriverEndpoint.CLOSE_WAIT);
        for (E endpoint : left) {
            attempt(() -> {
                endpoint.close(CLOSED, deadline);
                return 0;
            });
        }
        boolean alone = awaitThreads();
        // The handler is not called for queued connections any more; their links are discarded.
        for (Step step = takeStep(); step != null; step = takeStep()) {
            attempt(step.work);
        }
        ending.clear();
        Deadline flushed = Deadline.in(CLOSE_TIMEOUT);
        for (E endpoint : left) {
            // An error of the handler for one post must not lose the next one.
            while (!endpoint.isFinished() && !flushed.passed()) {
                attempt(() -> endpoint.flush(handler, Integer.MAX_VALUE) + finish(endpoint));
            }
        }
        return alone;
    }

    /** While this closes, a failure of the device, of the handler or at one endpoint must not keep the others from ending. */
    private void attempt(IntSupplier step) {
        try {
            int unused = step.getAsInt();
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            LOG.error("{}: a step of closing the connections failed; continuing", node, e);
        }
    }

    private boolean awaitThreads() {
        List<Thread> left;
        synchronized (this) {
            left = List.copyOf(threads);
        }
        Deadline deadline = Deadline.in(CLOSE_TIMEOUT);
        try {
            for (Thread thread : left) {
                if (!thread.join(deadline.remaining())) {
                    // The thread ends by itself, at the latest at the deadline of its handshake.
                    LOG.warn("{}: thread {} still waits for a peer", node, thread.getName());
                    return false;
                }
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
