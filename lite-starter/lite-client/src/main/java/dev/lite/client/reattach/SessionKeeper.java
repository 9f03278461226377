package dev.lite.client.reattach;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owns the application's current session and replaces it after a loss. The first call after the loss attaches again; with
 * {@linkplain #addAttachListener attach listeners} a background thread does so without any call.
 *
 * <p>Any thread. One thread attaches; the others wait for it, up to their deadline. An attempt at a node that accepts the connection
 * and then does not answer can take the configured deadline in addition.
 */
final class SessionKeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SessionKeeper.class);
    private static final long RETRY_NS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    /** For the background thread: no caller waits for it. */
    private static final long BACKGROUND_RETRY_NS_MAX = TimeUnit.SECONDS.toNanos(5);
    /** For callers: they shall find a restarted node soon. */
    private static final long CALLER_RETRY_NS_MAX = TimeUnit.MILLISECONDS.toNanos(200);
    /** The time between the exception that reports a loss and {@code isOpen} of the session becoming false, and more. */
    private static final long LOSS_NS = TimeUnit.MILLISECONDS.toNanos(1);
    /** More than another thread needs to attach to a node that runs. */
    private static final Duration CONCURRENT_ATTACH = Duration.ofMillis(500);

    private final AttachOptions options;
    private final Function<AttachOptions, Lite> attach;
    private final ReentrantLock attaching = new ReentrantLock();
    /** The locks that the application has not closed yet, also those of lost sessions, with their sessions. */
    private final Map<HeldLock, Lite> unclosedLocks = new ConcurrentHashMap<>();

    private final Set<Consumer<Lite>> attachListeners = ConcurrentHashMap.newKeySet();
    private final CountDownLatch closed = new CountDownLatch(1);
    private final AtomicBoolean attachesSoon = new AtomicBoolean();

    /** Written under {@link #attaching}; null until the first attachment of a lazy session. */
    private volatile @Nullable Lite session;

    /** Whether the last attempt to attach failed. Written under {@link #attaching}. */
    private volatile boolean away;

    /** Operations that attach, or wait for another one that does; bounded while the node is away. */
    private final AtomicInteger waiters = new AtomicInteger();

    private volatile LiteStatistics.@Nullable Sampler sampler;

    /** Attaches, unless the options are lazy. Throws what {@link Lite#attach} throws. */
    SessionKeeper(AttachOptions options, Function<AttachOptions, Lite> attach) {
        this.options = options.withReattach(false);
        this.attach = attach;
        if (!options.lazy()) {
            attachIfLost();
        }
    }

    private void reattachAfter(Lite attached) {
        // On a thread of its own: the session may have ended already, and the calling thread has a deadline.
        CompletionStage<Void> unused = attached.ended()
                .thenAcceptAsync(
                        reason -> attachWhile(() -> !attachListeners.isEmpty()), SessionKeeper::startAttaching);
    }

    private static void startAttaching(Runnable task) {
        Thread unused = Thread.ofVirtual().name("lite-attach").start(task);
    }

    /** Attaches while that is needed; retries with a growing pause. A virtual thread. */
    private void attachWhile(BooleanSupplier needed) {
        long pauseNs = RETRY_NS_MIN;
        while (!isClosed() && needed.getAsBoolean() && !Thread.currentThread().isInterrupted()) {
            try {
                Lite unused = open(Deadline.in(Duration.ZERO));
                return;
            } catch (RuntimeException | Error e) { // whatever it is: nobody else makes the next attempt
                if (pauseNs == RETRY_NS_MIN && session == null) {
                    LOG.warn("Cannot attach to {} yet; retrying: {}", options.socket(), e.getMessage());
                } else {
                    LOG.debug("Cannot attach to {} yet: {}", options.socket(), e.getMessage());
                }
            }
            pause(pauseNs);
            pauseNs = Math.min(2 * pauseNs, BACKGROUND_RETRY_NS_MAX);
        }
    }

    /** Waits between two attempts; {@link #close} ends the wait. An interrupt ends it, too, and is kept. */
    void pause(long ns) {
        try {
            boolean unused = closed.await(ns, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Registers an action that is applied to every session from the next one on. It must not block: a caller may wait for it. */
    void addAttachListener(Consumer<Lite> listener) {
        attachListeners.add(listener);
    }

    /** Ends {@link #addAttachListener}. */
    void removeAttachListener(Consumer<Lite> listener) {
        attachListeners.remove(listener);
    }

    /** The last session, open or lost; null before the first one of a lazy session. */
    @Nullable
    Lite last() {
        return session;
    }

    /** Attaches the first session in the background. Only the first call does something. */
    void attachSoon() {
        if (!attachesSoon.getAndSet(true)) {
            startAttaching(() -> attachWhile(() -> session == null));
        }
    }

    /** The name of the node of the current session, open or lost; attaches if there was none yet. */
    String nodeName() {
        Lite last = session;
        return (last != null ? last : open()).nodeName();
    }

    /** Whether this is still the session, and it is open. */
    boolean isCurrent(Lite attached) {
        return attached == session && isOpen();
    }

    /** Whether the next session may be at another node. */
    boolean mayMove() {
        return !options.alternatives().isEmpty();
    }

    boolean isOpen() {
        Lite last = session;
        return !isClosed() && last != null && last.isOpen();
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    /** The configured deadline, from now on. */
    Deadline deadline() {
        return Deadline.in(options.deadline());
    }

    /** The time left for an operation of a session, which takes no deadline of zero. */
    static Duration remaining(Deadline deadline) {
        return Duration.ofNanos(Math.max(1, deadline.remainingNs()));
    }

    /** {@link #open(Deadline)} with the configured deadline. */
    Lite open() {
        return open(deadline());
    }

    /**
     * Returns the current session if it is open; otherwise attaches, retrying until the deadline. Makes at least one attempt.
     *
     * @throws NodeUnreachableException when no node could be reached before the deadline
     * @throws LiteTimeoutException when another thread was still attaching at the deadline
     * @throws SessionLostException after {@link #close}
     */
    Lite open(Deadline deadline) {
        return open(deadline, deadline);
    }

    /** {@link #open(Deadline)} with a single attempt; an attempt of another thread that is under way is waited for. */
    Lite openNow() {
        return open(Deadline.in(CONCURRENT_ATTACH), Deadline.in(Duration.ZERO));
    }

    private Lite open(Deadline lockDeadline, Deadline retryDeadline) {
        Lite current = session;
        if (current != null && current.isOpen() && !isClosed()) {
            return current;
        }
        return waiting(() -> attach(lockDeadline, retryDeadline));
    }

    /**
     * Executes what may wait for the node, if not too many operations wait for it while it is away.
     *
     * @throws NodeUnreachableException when too many wait
     */
    <T> T waiting(Supplier<T> operation) {
        if (waiters.incrementAndGet() > options.waitersMax() && away) {
            waiters.decrementAndGet();
            throw new NodeUnreachableException(
                    "the node at %s is away, and %d operations wait for it already, which is the limit (lite.client.waiters-max)"
                            .formatted(options.socket(), options.waitersMax()));
        }
        try {
            return operation.get();
        } finally {
            waiters.decrementAndGet();
        }
    }

    /** {@link #open(Deadline)} for an operation that is counted by {@link #waiting} already. */
    Lite openCounted(Deadline deadline) {
        Lite current = session;
        return current != null && current.isOpen() && !isClosed() ? current : attach(deadline, deadline);
    }

    private Lite attach(Deadline lockDeadline, Deadline retryDeadline) {
        lock(attaching, lockDeadline, () -> "attaching to %s by another thread".formatted(options.socket()));
        try {
            long pauseNs = RETRY_NS_MIN;
            while (true) {
                try {
                    return attachIfLost();
                } catch (NodeUnreachableException | SessionLostException e) {
                    if (!mayRetry(retryDeadline)) {
                        throw e;
                    }
                }
                pause(Math.min(pauseNs, retryDeadline.remainingNs()));
                pauseNs = Math.min(2 * pauseNs, CALLER_RETRY_NS_MAX);
            }
        } finally {
            attaching.unlock();
        }
    }

    private Lite attachOnce() {
        boolean done = false;
        try {
            Lite attached = attach.apply(options);
            done = true;
            return attached;
        } finally {
            away = !done;
        }
    }

    private Lite attachIfLost() {
        if (isClosed()) {
            throw new SessionLostException("the session with %s was closed".formatted(options.socket()));
        }
        Lite last = session;
        if (last != null && last.isOpen()) {
            return last;
        }
        if (last != null) {
            last.close();
        }
        Lite attached = attachOnce();
        session = attached;
        sample(attached); // after the store: setSampler stores first, then finds the session
        LOG.info(
                "Attached {}to node {} at {} as {}",
                last == null ? "" : "again ",
                attached.nodeName(),
                options.socket(),
                options.application());
        reattachAfter(attached);
        attachListeners.forEach(listener -> notify(listener, attached));
        return attached;
    }

    /** A listener that fails must not keep the session from the others, or from the caller that attached it. */
    private static void notify(Consumer<Lite> listener, Lite attached) {
        try {
            listener.accept(attached);
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            LOG.error("An action for the new session with node {} failed", attached.nodeName(), e);
        }
    }

    void setSampler(LiteStatistics.@Nullable Sampler newSampler) {
        sampler = newSampler;
        Lite last = session;
        if (last != null) {
            last.setSampler(newSampler);
        }
    }

    private void sample(Lite attached) {
        LiteStatistics.Sampler current = sampler;
        if (current != null) {
            attached.setSampler(current);
        }
    }

    /** Notes a lock that this session acquired; {@link #lockClosed} must follow. */
    void lockAcquired(HeldLock lock, Lite holder) {
        unclosedLocks.put(lock, holder);
    }

    /** The application closed a lock. */
    void lockClosed(HeldLock lock) {
        unclosedLocks.remove(lock);
    }

    /** What the current session counts and holds, with the locks of lost sessions that the application has not closed. */
    LiteStatistics statistics() {
        Lite last = session;
        LiteStatistics current = last == null ? LiteStatistics.NONE : last.statistics();
        List<String> locks = new ArrayList<>(current.locks());
        unclosedLocks.forEach((lock, holder) -> {
            if (!holder.isOpen() && !isClosed()) {
                locks.add(lock.name());
            }
        });
        return new LiteStatistics(current.operations(), current.handles(), current.functions(), current.ports(), locks);
    }

    /**
     * Checks that work which began in a lost session may continue in the next one. It may not while the application has not closed the
     * locks that the session held, or one after it: a lock is lost with its session, and another session may hold it now, so what its
     * former holder still does must fail. Only the close tells that the former holder has stopped. No time does, because its thread may
     * be paused between any two operations.
     *
     * @param lost may still be open for a moment
     * @throws SessionLostException when the work must not continue
     */
    void requireNoLostLocks(Lite lost) {
        long unclosed = unclosedLocks.values().stream()
                .filter(holder -> holder == lost || !holder.isOpen())
                .count();
        if (unclosed > 0) {
            throw new SessionLostException(
                    "the session with %s was lost together with %s that the application has not closed yet; close %s before you use this handle again"
                            .formatted(
                                    options.socket(),
                                    Counts.text(unclosed, "lock", "locks"),
                                    unclosed == 1 ? "it" : "them"));
        }
    }

    private boolean mayRetry(Deadline deadline) {
        return !isClosed() && !deadline.passed() && !Thread.currentThread().isInterrupted();
    }

    /** Returns, after a short pause, when an operation that met the end of the session may be repeated; otherwise throws {@code lost}. */
    void pauseBeforeRetry(SessionLostException lost, Deadline deadline) {
        if (!mayRetry(deadline)) {
            throw lost;
        }
        Polling.sleepNs(LOSS_NS);
    }

    /**
     * Acquires a lock of this package. An interrupt ends only the wait for it.
     *
     * @param what describes what the lock is held for, for the message
     * @throws LiteTimeoutException when the deadline passed first or the thread was interrupted; the interrupt is kept
     */
    static void lock(ReentrantLock lock, Deadline deadline, Supplier<String> what) {
        long waitNs = deadline.remainingNs();
        try {
            if (lock.tryLock() || lock.tryLock(waitNs, TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LiteTimeoutException(
                    "%s was under way, and this thread was interrupted while it waited for that, for at most %s"
                            .formatted(what.get(), Durations.text(waitNs)),
                    e);
        }
        throw new LiteTimeoutException("%s took longer than the %s for which this call may wait"
                .formatted(what.get(), Durations.text(waitNs)));
    }

    @Override
    public String toString() {
        Lite last = session;
        return last == null ? "%s, not attached yet".formatted(options.socket()) : last.toString();
    }

    /** Ends the session. Callers that wait for the node get {@link SessionLostException}. */
    @Override
    public void close() {
        closed.countDown();
        attaching.lock();
        try {
            Lite last = session;
            if (last != null) {
                last.close();
            }
        } finally {
            attaching.unlock();
        }
    }
}
