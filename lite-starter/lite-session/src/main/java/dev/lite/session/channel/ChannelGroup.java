package dev.lite.session.channel;

import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.StagedWait;
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
    private final StagedWait virtualsWait;
    private final GroupWaits virtualWaits;
    /** Held by the one virtual thread that sleeps; the others wait for the lock. */
    private final ReentrantLock virtualSleeper = new ReentrantLock();

    private final AtomicInteger sleepers = new AtomicInteger();
    /** Threads that look for requests. While there is one, a request wakes nobody. */
    private final AtomicInteger looking = new AtomicInteger();

    /** Counts the changes of the group; a futex word. */
    private final MemorySegment changes = Arena.ofAuto().allocate(Integer.BYTES, Integer.BYTES);

    private volatile ChannelServer[] channels = NONE;
    private volatile boolean closed;
    /** Where the next look begins. Updates may be lost, which costs only fairness. */
    private int first;
    /** Whether the other source is checked before the channels: they take turns, or busy channels would starve it. Likewise. */
    private boolean besideFirst;

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
    public ChannelGroup(Consumer<ChannelServer> whenEnded, GroupWaits virtualWaits, int spins) {
        this.whenEnded = whenEnded;
        wait = new StagedWait(spins);
        virtualsWait = new StagedWait(spins);
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
        while (true) {
            int change = change(); // before the channels
            ChannelServer[] now = channels;
            if (now.length == 0) {
                return false;
            }
            Outcome outcome = receive(into, new Snapshot(now, beside, change), deadlineNs);
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

    private Outcome receive(ReceivedRequest into, Snapshot sources, long deadlineNs) {
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
                return await(into, sources, deadlineNs);
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
        boolean virtual = Thread.currentThread().isVirtual();
        StagedWait stages = virtual ? virtualsWait : wait;
        looking.incrementAndGet();
        try {
            return await(into, sources, deadlineNs, stages, virtual);
        } finally {
            looking.decrementAndGet();
        }
    }

    private Outcome await(ReceivedRequest into, Snapshot sources, long deadlineNs, StagedWait stages, boolean virtual) {
        boolean slept = false;
        int left = begin(stages, virtual);
        while (true) {
            if (besideFirst && sources.beside() != null && sources.beside().isReady()) {
                besideFirst = false;
                stages.hit(left);
                return Outcome.NOTHING;
            }
            if (take(into, sources.channels(), slept)) {
                besideFirst = true;
                if (slept && sources.beside() != null && sources.beside().isReady()) {
                    changed(); // its wake-up may have been this thread's
                }
                stages.hit(left);
                return Outcome.RECEIVED;
            }
            if (sources.beside() != null && sources.beside().isReady()) {
                stages.hit(left);
                return Outcome.NOTHING;
            }
            if (change() != sources.change()) {
                return Outcome.CHANGED;
            }
            if (left != 0) {
                left = stages.pause(left);
            } else if (System.nanoTime() - deadlineNs >= 0) {
                return Outcome.NOTHING;
            } else {
                sleep(into.words, sources, deadlineNs, virtual);
                slept = true;
                left = begin(stages, virtual);
            }
        }
    }

    private static int begin(StagedWait stages, boolean virtual) {
        int left = stages.begin(1);
        return virtual ? StagedWait.yieldsOnly(left) : left; // pauses would keep the others from the carrier
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

    private void sleep(FutexWords words, Snapshot sources, long deadlineNs, boolean virtual) {
        sleepers.incrementAndGet(); // before the announcements
        looking.decrementAndGet();
        try {
            if (virtual) {
                sleepVirtually(sources, deadlineNs);
            } else {
                words.clear();
                if (announce(words, sources)) {
                    Futex.Wait unused =
                            words.await(Math.min(deadlineNs - System.nanoTime(), ChannelMemory.SLEEP_NS_MAX));
                }
            }
        } finally {
            looking.incrementAndGet();
            sleepers.decrementAndGet();
        }
        for (ChannelServer channel : sources.channels()) {
            channel.checkDoorbell();
        }
    }

    /** Announces the sleep at all sources and adds their words; returns false if one of them is ready. */
    private boolean announce(FutexWords words, Snapshot sources) {
        boolean others = looking.get() > 0;
        words.add(changes.address(), sources.change());
        for (ChannelServer channel : sources.channels()) {
            if (!channel.announce(words, others)) {
                return false;
            }
        }
        return sources.beside() == null || sources.beside().announce(words);
    }

    private void sleepVirtually(Snapshot sources, long deadlineNs) {
        boolean interrupted = Thread.interrupted();
        try {
            if (virtualSleeper.tryLock(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                try {
                    virtualWaits.await(new VirtualWait(sources), deadlineNs);
                } finally {
                    virtualSleeper.unlock();
                }
            }
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The wait of the virtual thread that sleeps. */
    private final class VirtualWait implements GroupWaits.Wait {
        private final Snapshot sources;

        VirtualWait(Snapshot sources) {
            this.sources = sources;
        }

        @Override
        public boolean isOver() {
            if (change() != sources.change()) {
                return true;
            }
            for (ChannelServer channel : sources.channels()) {
                if (channel.isReady()) {
                    return true;
                }
            }
            return sources.beside() != null && sources.beside().isReady();
        }

        @Override
        public boolean announce(FutexWords words) {
            return ChannelGroup.this.announce(words, sources);
        }
    }
}
