package dev.lite.client.reattach;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.SessionLostException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application's one session, made anew when the node went away and came back. The first call after the loss attaches
 * again, or, while there are {@linkplain #keep served things}, nobody has to call. Callers wait for the node up to their deadline.
 *
 * <p>Any thread; one of them attaches, the others wait for it. An attempt at a node that accepts and then says nothing may
 * take the configured deadline once more.
 */
final class SessionKeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SessionKeeper.class);
    private static final long RETRY_NS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    /** Of a thread that nobody waits for. */
    private static final long RETRY_NS_MAX = TimeUnit.SECONDS.toNanos(5);
    /** Of callers that wait: a node that comes back is found soon. */
    private static final long CALLERS_RETRY_NS_MAX = TimeUnit.MILLISECONDS.toNanos(200);
    /** Between the exception that tells of the loss and the session that says the same. */
    private static final long LOSS_NS = TimeUnit.MILLISECONDS.toNanos(1);
    /** As long as another thread takes, and more, to attach to a node that is there. */
    private static final long LOOK_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final long DEADLINE_NS_MAX = TimeUnit.DAYS.toNanos(36_500);

    private final AttachOptions options;
    private final Function<AttachOptions, Lite> attach;
    private final ReentrantLock attaching = new ReentrantLock();
    /** The sessions with locks that their holders have not closed yet. */
    private final Map<Lite, Holding> holding = new ConcurrentHashMap<>();
    /** What is served at every session; one for each function of the application. */
    private final Set<Consumer<Lite>> served = ConcurrentHashMap.newKeySet();

    private volatile Lite session;
    private volatile boolean closed;

    /**
     * Locks that a session holds, or held when it was lost.
     *
     * @param lostNs when somebody first met the loss, of {@link System#nanoTime}; 0 before
     */
    private record Holding(int locks, long lostNs) {}

    /** Attaches; throws what {@link Lite#attach} throws. */
    SessionKeeper(AttachOptions options, Function<AttachOptions, Lite> attach) {
        this.options = options;
        this.attach = attach;
        this.session = attach.apply(options);
        watch(session);
        LOG.info("Attached to node {} at {} as {}", session.nodeName(), options.socket(), options.application());
    }

    private void watch(Lite attached) {
        CompletionStage<Void> unused = attached.ended().thenAccept(reason -> attachForServed());
    }

    /** Asks the node again and again, more and more seldom. A virtual thread. */
    private void attachForServed() {
        long pauseNs = RETRY_NS_MIN;
        while (!closed && !served.isEmpty()) {
            try {
                Lite unused = open(System.nanoTime());
                return;
            } catch (LiteException e) {
                LOG.debug("No node at {} to serve at yet: {}", options.socket(), e.getMessage());
            }
            LockSupport.parkNanos(pauseNs);
            pauseNs = Math.min(2 * pauseNs, RETRY_NS_MAX);
        }
    }

    /** Has something done at every session from the next one on. */
    void keep(Consumer<Lite> atEverySession) {
        served.add(atEverySession);
    }

    /** Ends {@link #keep}. */
    void forget(Consumer<Lite> atEverySession) {
        served.remove(atEverySession);
    }

    /** The session of now, open or lost. */
    Lite session() {
        return session;
    }

    boolean isOpen() {
        return !closed && session.isOpen();
    }

    Duration deadline() {
        return options.deadline();
    }

    /** The moment of {@link System#nanoTime} until which a call that begins now may wait. */
    long deadlineNs() {
        return deadlineNs(options.deadline());
    }

    static long deadlineNs(Duration deadline) {
        boolean sane = deadline.compareTo(Duration.ofNanos(DEADLINE_NS_MAX)) < 0;
        return System.nanoTime() + (sane ? deadline.toNanos() : DEADLINE_NS_MAX);
    }

    static Duration left(long deadlineNs) {
        return Duration.ofNanos(Math.max(0, deadlineNs - System.nanoTime()));
    }

    /** {@link #open(long)} with the configured deadline. */
    Lite open() {
        return open(deadlineNs());
    }

    /**
     * The session of now if it is open, else the next one, which is waited for; at least one attempt is made.
     *
     * @throws NodeUnreachableException when nobody listened until then
     * @throws LiteTimeoutException when another thread attached for so long
     * @throws SessionLostException after {@link #close}
     */
    Lite open(long deadlineNs) {
        return open(deadlineNs, deadlineNs);
    }

    /** {@link #open(long)} for who wants to know at once: one attempt, after that of another thread which is at it just now. */
    Lite openAtOnce() {
        long nowNs = System.nanoTime();
        return open(nowNs + LOOK_NS, nowNs);
    }

    private Lite open(long othersDeadlineNs, long deadlineNs) {
        Lite now = session;
        if (now.isOpen() && !closed) {
            return now;
        }
        lockUntil(
                attaching,
                othersDeadlineNs,
                () -> "attaching again to %s by another thread".formatted(options.socket()));
        try {
            long pauseNs = RETRY_NS_MIN;
            while (true) {
                try {
                    return attachIfLost();
                } catch (NodeUnreachableException | SessionLostException e) {
                    if (!mayWait(deadlineNs)) {
                        throw e;
                    }
                }
                LockSupport.parkNanos(Math.min(pauseNs, Math.max(1, deadlineNs - System.nanoTime())));
                pauseNs = Math.min(2 * pauseNs, CALLERS_RETRY_NS_MAX);
            }
        } finally {
            attaching.unlock();
        }
    }

    private Lite attachIfLost() {
        if (closed) {
            throw new SessionLostException("the session with %s was closed".formatted(options.socket()));
        }
        if (!session.isOpen()) {
            session.close();
            session = attach.apply(options);
            LOG.info("Attached again to node {} at {}", session.nodeName(), options.socket());
            served.forEach(one -> one.accept(session));
            watch(session);
        }
        return session;
    }

    /** A session acquired a lock; {@link #released} follows. */
    void acquired(Lite at) {
        Holding unused = holding.merge(
                at, new Holding(1, 0), (now, one) -> new Holding(now.locks() + one.locks(), now.lostNs()));
    }

    /** Whoever held a lock of a session has closed it. */
    void released(Lite at) {
        Holding unused = holding.computeIfPresent(
                at, (session, now) -> now.locks() == 1 ? null : new Holding(now.locks() - 1, now.lostNs()));
    }

    /**
     * Whether what was begun in a lost session may be carried on with in the next one. A lock is lost with its session, and somebody
     * else may have it: what its holder does, until he has closed it, must not be done without it. Operations end within their
     * deadline: after that a lock that nobody closes counts no more.
     *
     * @throws SessionLostException when it may not
     */
    void requireUnlocked(Lite lost) {
        Holding now = holding.get(lost);
        if (now == null) {
            return;
        }
        long nowNs = System.nanoTime();
        if (now.lostNs() == 0) {
            Holding unused = holding.computeIfPresent(
                    lost, (session, held) -> held.lostNs() == 0 ? new Holding(held.locks(), nowNs | 1) : held);
        } else if (nowNs - now.lostNs() > options.deadline().toNanos()) {
            holding.remove(lost);
            return;
        }
        throw new SessionLostException(
                "the session with %s is lost, and with it %d locks that are not closed yet; what they may protect is not carried on with"
                        .formatted(options.socket(), now.locks()));
    }

    /** Whether there is sense in trying once more. */
    private boolean mayWait(long deadlineNs) {
        return !closed
                && deadlineNs - System.nanoTime() > 0
                && !Thread.currentThread().isInterrupted();
    }

    /** Returns when what met the end of the session may be tried again; throws when not. */
    void afterLoss(SessionLostException lost, long deadlineNs) {
        if (!mayWait(deadlineNs)) {
            throw lost;
        }
        LockSupport.parkNanos(LOSS_NS);
    }

    /** @param what in words, for the message of the {@link LiteTimeoutException} */
    void lockUntil(ReentrantLock lock, long deadlineNs, Supplier<String> what) {
        long waitNs = Math.max(0, deadlineNs - System.nanoTime());
        try {
            if (lock.tryLock(waitNs, TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        throw new LiteTimeoutException("%s took longer than the %d ms for which this call may wait"
                .formatted(what.get(), TimeUnit.NANOSECONDS.toMillis(waitNs)));
    }

    /** Ends the session; whoever waits for another one gives up. */
    @Override
    public void close() {
        closed = true;
        attaching.lock();
        try {
            session.close();
        } finally {
            attaching.unlock();
        }
    }

    /** What one session makes is good for that session only; this makes it again at the next one. */
    static final class Kept<T> {
        private final SessionKeeper keeper;
        private final Function<Lite, T> maker;
        private volatile Made<T> made;

        /** With the session that it is good for. */
        record Made<T>(Lite session, T value) {}

        /** Makes it at once. */
        Kept(SessionKeeper keeper, Function<Lite, T> maker) {
            this.keeper = keeper;
            this.maker = maker;
            this.made = make(keeper.deadlineNs());
        }

        private Made<T> make(long deadlineNs) {
            Lite session = keeper.open(deadlineNs);
            return new Made<>(session, maker.apply(session)); // by two threads at once: either is as good
        }

        /** That of the session of now; null when it is lost. */
        @Nullable
        T ifOpen() {
            Made<T> now = madeIfOpen();
            return now == null ? null : now.value();
        }

        /** {@link #ifOpen} with its session. */
        @Nullable
        Made<T> madeIfOpen() {
            Made<T> now = made;
            return now.session().isOpen() ? now : null;
        }

        T get(long deadlineNs) {
            return made(deadlineNs).value();
        }

        /** {@link #get} with its session. */
        Made<T> made(long deadlineNs) {
            Made<T> now = made;
            if (!now.session().isOpen()) {
                now = make(deadlineNs);
                made = now;
            }
            return now;
        }
    }
}
