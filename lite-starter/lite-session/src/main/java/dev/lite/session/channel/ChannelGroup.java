package dev.lite.session.channel;

import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.StagedWait;
import dev.lite.session.waiting.PolledWaits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The channels of one function: its threads wait for requests of all of them at once, and beside them for one other source. Any number
 * of platform and virtual threads, each with its own {@link ReceivedRequest}.
 *
 * <p>A thread that waits is in the memory of all channels, so none is unmapped under it. Channels take turns. A thread sleeps on one
 * word for each channel, one for the other source, and one that changes with the group.
 */
public final class ChannelGroup {
    /** The largest number of channels. */
    public static final int CHANNELS_MAX = 64;

    /** A taker takes at most so many requests of one channel before the other sources have their turn. */
    private static final int BATCH = 16;

    /** While another thread looks for requests, nobody wakes a sleeper. That thread may leave with a long one, so it looks again soon. */
    private static final long BESIDE_OTHERS_NS = 1_000_000;

    /** Another source of requests, which its reader empties. Any thread. */
    public interface Beside {
        /** Whether it has something; the wait is over then. */
        boolean isReady();

        /** Announces that a thread will sleep on its word, and adds the word; returns false if it is ready. */
        boolean announce(FutexWords words);
    }

    private static final ChannelServer[] NONE = {};

    private final Consumer<ChannelServer> whenEnded;
    private final StagedWait wait;
    private final PolledWaits virtualWaits;
    /** Held by the one virtual thread that sleeps; the others wait for the lock. */
    private final ReentrantLock virtualSleeper = new ReentrantLock();

    private final AtomicInteger sleepers = new AtomicInteger();
    /** Platform threads that look for requests. While there is one, a request wakes nobody. */
    private final AtomicInteger looking = new AtomicInteger();

    /** Counts the changes of the group; a futex word. */
    private final MemorySegment changes = Arena.ofAuto().allocate(Integer.BYTES, Integer.BYTES);

    private volatile ChannelServer[] channels = NONE;
    private volatile boolean closed;
    /** Where the next look begins. Updates may be lost, which costs only fairness. */
    private int first;
    /** Whether the other source is checked before the channels: they take turns, or busy channels would starve it. Likewise. */
    private boolean besideFirst;

    /** Takes requests for a thread that waits; see {@link #serve}. Must not block. */
    public interface Taker {
        /** Takes a request; returns whether it takes more. */
        boolean take(ReceivedRequest request);
    }

    /** What a wait looks at. */
    private record Snapshot(
            ChannelServer[] channels, @Nullable Beside beside, int change) {}

    /**
     * A group without channels.
     *
     * @param whenEnded told of a channel that has ended, and which has left the group; closes it. Once for each
     * @param virtualWaits for the virtual threads; the caller closes it after the group
     * @param spins the largest number of pauses before a thread sleeps
     */
    public ChannelGroup(Consumer<ChannelServer> whenEnded, PolledWaits virtualWaits, int spins) {
        this.whenEnded = whenEnded;
        wait = new StagedWait(spins);
        this.virtualWaits = virtualWaits;
    }

    /** Adds a channel; returns false if there are {@value #CHANNELS_MAX} already, or the group is closed. */
    public synchronized boolean add(ChannelServer channel) {
        ChannelServer[] now = channels;
        if (closed || now.length == CHANNELS_MAX) {
            return false;
        }
        ChannelServer[] next = Arrays.copyOf(now, now.length + 1);
        next[now.length] = channel;
        channels = next;
        changed();
        return true;
    }

    /** Removes a channel and passes it to {@code whenEnded}; does nothing if it is not in the group. */
    public void remove(ChannelServer channel) {
        if (removeOnly(channel)) {
            whenEnded.accept(channel);
        }
    }

    private synchronized boolean removeOnly(ChannelServer channel) {
        ChannelServer[] now = channels;
        ChannelServer[] next = Arrays.stream(now).filter(one -> one != channel).toArray(ChannelServer[]::new);
        if (next.length == now.length) {
            return false;
        }
        channels = next;
        changed();
        return true;
    }

    /** Whether there is no channel. */
    public boolean isEmpty() {
        return channels.length == 0;
    }

    /** Whether threads sleep here, or are about to. */
    public boolean hasSleepers() {
        return sleepers.get() != 0;
    }

    /** Moves all channels to another group; none can be added here any more. Waits return. */
    public void moveTo(ChannelGroup other) {
        ChannelServer[] moved;
        synchronized (this) {
            closed = true;
            moved = channels;
            channels = NONE;
            changed();
        }
        for (ChannelServer channel : moved) {
            if (!other.add(channel)) {
                whenEnded.accept(channel);
            }
        }
    }

    /** Ends and removes the channels in which {@linkplain ChannelServer#isAwaited no call waits for its answer}. */
    public void closeUnawaited(String reason) {
        for (ChannelServer channel : channels) {
            if (!channel.isAwaited()) {
                channel.end(reason);
                remove(channel);
            }
        }
    }

    /** If there is no channel, none can be added any more. Returns whether there is none. */
    public synchronized boolean closeIfEmpty() {
        closed |= channels.length == 0;
        return channels.length == 0;
    }

    /** Removes all channels; none can be added any more. Waits return. */
    public void close() {
        synchronized (this) {
            closed = true;
        }
        for (ChannelServer channel : channels) {
            remove(channel);
        }
    }

    /** Wakes all threads that sleep here; they return from their waits if there are no channels any more. */
    private void changed() {
        RawMemory.getAndAddInt(changes.address(), 1);
        int unused = Futex.wake(changes.address(), Integer.MAX_VALUE);
    }

    private int change() {
        return RawMemory.getIntVolatile(changes.address());
    }

    /**
     * Waits for the next request of a channel, and copies it. An interrupt does not end the wait; it is kept.
     *
     * @param into receives the request; made for areas with such windows
     * @param deadlineNs of {@link System#nanoTime}
     * @return false when the other source is ready, the deadline has passed, or there is no channel any more
     */
    public boolean receive(ReceivedRequest into, @Nullable Beside beside, long deadlineNs) {
        return receive(into, beside, null, deadlineNs);
    }

    /**
     * {@link #receive} for a virtual thread, for which the taker takes requests while it waits, in the thread that polls for all virtual
     * threads. So these requests do not wake it.
     *
     * @return true: a request that the taker did not take; false also when the taker takes no more
     */
    public boolean serve(ReceivedRequest into, @Nullable Beside beside, Taker taker, long deadlineNs) {
        return receive(into, beside, taker, deadlineNs);
    }

    private boolean receive(ReceivedRequest into, @Nullable Beside beside, @Nullable Taker taker, long deadlineNs) {
        while (true) {
            int change = change(); // before the channels
            ChannelServer[] now = channels;
            if (now.length == 0) {
                return false;
            }
            Outcome outcome = receive(into, new Snapshot(now, beside, change), taker, deadlineNs);
            if (outcome != Outcome.CHANGED) {
                return outcome == Outcome.RECEIVED;
            }
        }
    }

    private enum Outcome {
        RECEIVED,
        NOTHING,
        CHANGED
    }

    private Outcome receive(ReceivedRequest into, Snapshot sources, @Nullable Taker taker, long deadlineNs) {
        ChannelServer[] now = sources.channels();
        int entered = 0;
        ChannelServer ended = null;
        try {
            for (; entered < now.length && ended == null; entered++) {
                now[entered].requireRoom(into);
                if (!now[entered].enter()) {
                    ended = now[entered];
                    break;
                }
            }
            if (ended == null) {
                return Thread.currentThread().isVirtual()
                        ? awaitVirtually(into, sources, taker, deadlineNs)
                        : await(into, sources, deadlineNs);
            }
        } catch (ChannelEndedException e) {
            ended = firstEnded(now);
        } finally {
            for (int i = 0; i < entered; i++) {
                now[i].exit();
            }
        }
        if (ended != null) {
            remove(ended);
        }
        return Outcome.CHANGED;
    }

    private static @Nullable ChannelServer firstEnded(ChannelServer[] now) {
        for (ChannelServer channel : now) {
            if (channel.isEnded()) {
                return channel;
            }
        }
        return null;
    }

    /** The thread is in the memory of all channels. */
    private Outcome await(ReceivedRequest into, Snapshot sources, long deadlineNs) {
        looking.incrementAndGet();
        try {
            boolean slept = false;
            int cost = pollCost(sources);
            int begun = wait.begin(cost);
            int left = begun;
            while (true) {
                Outcome outcome = look(into, sources, slept);
                if (outcome == Outcome.CHANGED) {
                    return outcome;
                } else if (outcome != null) {
                    if (left == begun && !slept) {
                        wait.ready(left);
                    } else {
                        wait.hit(left);
                    }
                    return outcome;
                } else if (left != 0) {
                    left = wait.pause(left);
                } else if (System.nanoTime() - deadlineNs >= 0) {
                    return Outcome.NOTHING;
                } else {
                    sleep(into.words, sources, deadlineNs);
                    slept = true;
                    left = wait.begin(cost);
                }
            }
        } finally {
            looking.decrementAndGet();
        }
    }

    private static int pollCost(Snapshot sources) {
        int cost = 0;
        for (ChannelServer channel : sources.channels()) {
            cost += channel.pollCost();
        }
        return Math.max(1, cost); // reads of memory cost next to nothing
    }

    /** The thread is in the memory of all channels. It does not poll itself: the thread of {@link PolledWaits} does. */
    private Outcome awaitVirtually(ReceivedRequest into, Snapshot sources, @Nullable Taker taker, long deadlineNs) {
        boolean slept = false;
        while (true) {
            Outcome outcome = look(into, sources, slept);
            if (outcome != null) {
                return outcome;
            }
            if (System.nanoTime() - deadlineNs >= 0) {
                return Outcome.NOTHING;
            }
            VirtualWait mine = new VirtualWait(into, sources, taker);
            sleepVirtually(mine, deadlineNs);
            if (mine.isFull()) {
                return Outcome.NOTHING;
            }
            slept = true;
        }
    }

    /** Looks at all sources once; null: nothing. */
    private @Nullable Outcome look(ReceivedRequest into, Snapshot sources, boolean slept) {
        Beside beside = sources.beside();
        if (besideFirst && beside != null && beside.isReady()) {
            besideFirst = false;
            return Outcome.NOTHING;
        }
        if (take(into, sources.channels(), slept)) {
            besideFirst = true;
            if (slept && beside != null && beside.isReady()) {
                changed(); // its wake-up may have been this thread's
            }
            return Outcome.RECEIVED;
        }
        if (beside != null && beside.isReady()) {
            return Outcome.NOTHING;
        }
        return change() != sources.change() ? Outcome.CHANGED : null;
    }

    private boolean take(ReceivedRequest into, ChannelServer[] now, boolean slept) {
        int begin = first;
        for (int i = 0; i < now.length; i++) {
            int at = Math.floorMod(begin + i, now.length);
            if (now[at].take(into)) {
                first = at + 1;
                if (slept) {
                    now[at].wakeForMore();
                }
                return true;
            }
        }
        return false;
    }

    private void sleep(FutexWords words, Snapshot sources, long deadlineNs) {
        sleepers.incrementAndGet(); // before the announcements
        looking.decrementAndGet();
        try {
            words.clear();
            boolean others = looking.get() > 0;
            if (announce(words, sources, others)) {
                long sleepNs = others ? BESIDE_OTHERS_NS : ChannelMemory.SLEEP_NS_MAX;
                Futex.Wait unused = words.await(Math.min(deadlineNs - System.nanoTime(), sleepNs));
            }
        } finally {
            looking.incrementAndGet();
            sleepers.decrementAndGet();
        }
        checkDoorbells(sources);
    }

    private static void checkDoorbells(Snapshot sources) {
        for (ChannelServer channel : sources.channels()) {
            channel.checkDoorbell();
        }
    }

    /**
     * Announces the sleep at all sources and adds their words; returns false if one of them is ready.
     *
     * @param others whether another thread looks, so that requests need not wake this one
     */
    private boolean announce(FutexWords words, Snapshot sources, boolean others) {
        words.add(changes.address(), sources.change());
        for (ChannelServer channel : sources.channels()) {
            if (!channel.announce(words, others)) {
                return false;
            }
        }
        return sources.beside() == null || sources.beside().announce(words);
    }

    private void sleepVirtually(VirtualWait mine, long deadlineNs) {
        boolean interrupted = Thread.interrupted();
        sleepers.incrementAndGet(); // before the announcements
        try {
            if (virtualSleeper.tryLock(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                try {
                    virtualWaits.await(mine, deadlineNs);
                } finally {
                    for (ChannelServer channel : mine.sources.channels()) {
                        channel.endVirtualPolls();
                    }
                    virtualSleeper.unlock();
                }
            }
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            sleepers.decrementAndGet();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        mine.rethrow();
        checkDoorbells(mine.sources);
    }

    /** The wait of the virtual thread that sleeps. */
    private final class VirtualWait implements PolledWaits.Wait {
        private final ReceivedRequest into;
        private final Snapshot sources;
        private final @Nullable Taker taker;

        // Written by the polling thread, read by the waiting thread when its wait is over.
        private boolean full;
        private @Nullable RuntimeException exception;
        private @Nullable Error error;

        VirtualWait(ReceivedRequest into, Snapshot sources, @Nullable Taker taker) {
            this.into = into;
            this.sources = sources;
            this.taker = taker;
        }

        /** The taker takes no more. */
        boolean isFull() {
            return full;
        }

        void rethrow() {
            if (exception != null) {
                throw exception;
            }
            if (error != null) {
                throw error;
            }
        }

        @Override
        public PolledWaits.Polled poll() {
            if (change() != sources.change()) {
                return PolledWaits.Polled.OVER;
            }
            try {
                if (taker == null) {
                    return isReady() ? PolledWaits.Polled.OVER : PolledWaits.Polled.NOTHING;
                }
                return serve(taker);
            } catch (RuntimeException e) { // the waiting thread's, not the polling thread's
                exception = e;
            } catch (Error e) {
                error = e;
            }
            return PolledWaits.Polled.OVER;
        }

        private PolledWaits.Polled serve(Taker its) {
            boolean some = false;
            for (ChannelServer channel : sources.channels()) {
                channel.pollVirtually();
                for (int count = 0; count < BATCH && channel.hasRequest(true) && channel.take(into); count++) {
                    some = true;
                    if (!its.take(into)) {
                        full = true;
                        channel.wakeForMore();
                        return PolledWaits.Polled.OVER;
                    }
                }
                if (channel.isBroken()) {
                    return PolledWaits.Polled.OVER;
                }
            }
            if (sources.beside() != null && sources.beside().isReady()) {
                return PolledWaits.Polled.OVER;
            }
            return some ? PolledWaits.Polled.WORKED : PolledWaits.Polled.NOTHING;
        }

        @Override
        public boolean isReady() {
            if (change() != sources.change()) {
                return true;
            }
            for (ChannelServer channel : sources.channels()) {
                if (channel.hasRequest(false) || channel.isBroken()) {
                    return true;
                }
            }
            return sources.beside() != null && sources.beside().isReady();
        }

        @Override
        public boolean announce(FutexWords words) {
            return ChannelGroup.this.announce(words, sources, false);
        }
    }
}
