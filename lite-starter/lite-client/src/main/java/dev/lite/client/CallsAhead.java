package dev.lite.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one server that came together with the one that a thread received. That thread would have received them next, so
 * nobody loses them: commands ask for further calls only while a single thread receives. The first second thread ends that for
 * ever. Any thread.
 */
final class CallsAhead<T> {
    private final ConcurrentLinkedDeque<T> calls = new ConcurrentLinkedDeque<>();
    private final AtomicReference<@Nullable Thread> receiver = new AtomicReference<>();
    /** Commands under way that ask for further calls. */
    private final AtomicInteger asking = new AtomicInteger();

    private volatile boolean several;
    private volatile boolean closed;

    /**
     * How many further calls the next command of this thread may receive: 0, or the given number; then {@link #asked} must follow the
     * command.
     */
    int ask(int most) {
        Thread self = Thread.currentThread();
        if (receiver.get() != self && !receiver.compareAndSet(null, self)) {
            several = true;
        }
        if (most == 0) {
            return 0;
        }
        asking.incrementAndGet(); // before the check: the second thread does the reverse, so one of the two sees the
        // other
        if (several) {
            asking.decrementAndGet();
            return 0;
        }
        return most;
    }

    /** A command that asked for further calls has ended, and its calls were {@linkplain #add added}. */
    void asked() {
        asking.decrementAndGet();
    }

    /** Whether a command of another thread may bring calls that this thread must not miss; after {@link #ask}. */
    boolean mayCome() {
        return several && asking.get() > 0;
    }

    /** Adds a call; returns false if the server was closed. */
    boolean add(T call) {
        calls.add(call);
        return !closed || !calls.remove(call);
    }

    /** {@link #add} for a call that a thread had, before all others. */
    boolean putBack(T call) {
        calls.addFirst(call);
        return !closed || !calls.remove(call);
    }

    boolean isEmpty() {
        return calls.isEmpty();
    }

    /** The next call, or null. */
    @Nullable
    T poll() {
        return calls.poll();
    }

    /** Takes no calls any more; returns those that nobody has taken. */
    List<T> close() {
        closed = true;
        List<T> left = new ArrayList<>();
        T call;
        while ((call = calls.poll()) != null) {
            left.add(call);
        }
        return left;
    }
}
