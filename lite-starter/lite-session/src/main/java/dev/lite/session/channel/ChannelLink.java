package dev.lite.session.channel;

import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Polling;
import dev.lite.os.wire.WireException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * Carries a channel between two hosts. Each end has its own copy of the channel's memory, and a link. The link sends what the other end
 * must see over the channel's own TCP connection, and writes what it receives into the memory. So callers and servers work as on one host.
 *
 * <p><b>Sending.</b> A thread notes its slot and sends, unless another thread is sending: that one then sends this slot, too. So several
 * calls share one system call. What a slot sends is in its window, which stays as it is until the frame was sent. So a connection that
 * takes no more needs no further memory. A thread that has made many writes leaves the rest to one that {@linkplain #isPolled polls}: others
 * may note slots as fast as it sends them.
 *
 * <p><b>Receiving.</b> Any thread that waits polls; one at a time. If none that waits can poll, the last one {@linkplain #arm arms} the
 * link: then the thread of {@link LinkWatch} polls as soon as something comes.
 *
 * <p><b>Trust.</b> The other end may send anything. A frame that does not fit the state of its slot ends the channel. Threads are in the
 * memory ({@link ChannelMemory#enter}) where a method does not say otherwise.
 */
abstract class ChannelLink implements LinkInput.Frames {
    /** A look costs a system call of 300 to 400 ns, a pause 30 to 50 ns. */
    static final int POLL_COST = 8;

    /** Messages that follow each other faster than this may wait for each other. */
    private static final long OFTEN_NS = 100_000;

    /** A thread makes so many writes in a row; then it leaves the rest to one that polls, if one does. */
    static final int WRITES_MAX = 32;

    /** No frame for this slot. */
    static final int NOTHING = -1;

    final ChannelMemory memory;
    final ChannelArea area;
    final LinkWatch watch;
    private final LinkSocket socket;
    /** Of the thread that sends. */
    private final LinkOutput output;
    /** Of the thread that receives. */
    private final LinkInput input;

    /** A bit for each slot that has something to send. */
    private final AtomicLong outgoing = new AtomicLong();
    /** A bit for each slot whose request was cancelled after it was sent. */
    private final AtomicLong cancelled = new AtomicLong();

    /** By slot: the generation of that request. */
    private final AtomicIntegerArray cancelledGenerations;

    private final AtomicBoolean sending = new AtomicBoolean();
    private final AtomicBoolean receiving = new AtomicBoolean();

    /** The connection takes no more for now. */
    private volatile boolean blocked;
    /** The channel has ended. */
    private volatile boolean ended;
    /** A thread polls for virtual threads, unless others keep its carrier. */
    private volatile boolean virtuallyPolled;
    /** The thread that receives sleeps until something comes. */
    private volatile boolean receiverSleeps;
    /** Of the watch. Written once. */
    private long key;

    /** When something was sent last. */
    private volatile long sentNs = System.nanoTime();

    /** Whether the thread that receives is the watching one. That thread's. */
    private boolean watched;

    /** Whether something was unsent at the last tick. The watching thread's. */
    private boolean unsent;

    ChannelLink(ChannelMemory memory, LinkSocket socket, LinkWatch watch) {
        this.memory = memory;
        this.area = memory.area;
        this.socket = socket;
        this.watch = watch;
        cancelledGenerations = new AtomicIntegerArray(area.slots());
        output = new LinkOutput(memory, socket.wire());
        input = new LinkInput(memory, socket.wire(), this);
    }

    /**
     * The connection is watched from now on. Call it once.
     *
     * @throws OsException when the system has no room for one more socket to watch; the connection and the memory are closed then
     */
    final void start() {
        memory.linked(this);
        boolean added = false;
        try {
            key = watch.add(this, socket.socket());
            added = true;
        } finally {
            if (!added) {
                memory.close(); // nobody is in it
            }
        }
    }

    /**
     * Prepares the frame of a slot: {@linkplain LinkFrame#put writes} its header, and returns the number of bytes of the window that
     * follow, or {@link #NOTHING}. The thread that sends.
     */
    abstract int prepare(int slot, long header);

    /**
     * Whether a thread polls, and sends what others leave. A thread that stops polling sends once more afterwards. So whatever was left
     * while this returned true is sent.
     */
    abstract boolean isPolled();

    final long key() {
        return key;
    }

    final TcpSocket socket() {
        return socket.socket();
    }

    // Sending.

    /** A slot has something to send. Never blocks. */
    final void send(int slot) {
        note(slot);
        sendNow();
    }

    /** A slot has something to send with the next {@link #sendNow}. */
    final void note(int slot) {
        outgoing.getAndUpdate(bits -> bits | 1L << slot);
    }

    /** The request of a slot was cancelled. The slot may be in use again by now. Never blocks. */
    final void cancel(int slot, int generation) {
        cancelledGenerations.set(slot, generation);
        cancelled.getAndUpdate(bits -> bits | 1L << slot);
        sendNow();
    }

    /** A slot has something to send, which a thread that polls, or will soon, sends. Never blocks. */
    final void leave(int slot) {
        note(slot);
        if (virtuallyPolled) { // after the note: a thread that clears it sends what was noted
            watch.left();
        } else {
            sendNow();
        }
    }

    /** The thread that polls for virtual threads does so from now on. */
    final void pollVirtually() {
        if (!virtuallyPolled) {
            virtuallyPolled = true;
        }
    }

    /** Whether {@link #pollVirtually} holds. */
    final boolean isVirtuallyPolled() {
        return virtuallyPolled;
    }

    /** That thread may not poll any more. */
    final void endVirtualPolls() {
        virtuallyPolled = false;
        sendNow();
    }

    /** Whether something was sent a moment ago. */
    final boolean sendsOften() {
        return System.nanoTime() - sentNs < OFTEN_NS;
    }

    final boolean hasOutgoing() {
        return outgoing.get() != 0 || cancelled.get() != 0;
    }

    /** Sends what was noted. Never blocks. */
    final void sendNow() {
        // A thread that finds another one sending leaves its bit to that one, which checks again after it has ended.
        while (hasOutgoing() && !blocked && sending.compareAndSet(false, true)) {
            // Asked after sending has ended: a thread that stopped polling before that may have found this one sending.
            if (!sendAll() && isPolled()) {
                watch.left(); // if that thread has lost its processor
                return;
            }
        }
    }

    /** Returns false if it has left something to others. The thread has set {@link #sending}. */
    private boolean sendAll() {
        boolean all = false;
        boolean leaves = false;
        try {
            for (int writes = 0; !all && !leaves && output.flush(); writes++) {
                all = !hasOutgoing();
                if (!all) {
                    leaves = writes >= WRITES_MAX && !ended && isPolled();
                    if (!leaves) {
                        gather();
                    }
                }
            }
            sentNs = System.nanoTime();
        } catch (OsException e) {
            // Replies may have come before the other end closed the connection. If another thread is receiving, it
            // notices the end, too.
            if (receiving.compareAndSet(false, true)) {
                boolean unused = pollNow();
                failed(e);
            }
        } catch (WireException e) {
            failed(e);
        } catch (RuntimeException | Error e) { // for example no memory: what was sent is not known
            failed(e);
            throw e;
        } finally {
            boolean stuck = !all && !leaves;
            blocked = stuck; // also after a failure: otherwise threads would try again and again
            sending.set(false);
            if (ended) {
                end();
            } else if (stuck) {
                arm();
            }
        }
        return !leaves;
    }

    private void gather() {
        output.clear();
        for (long bits = outgoing.getAndSet(0); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            int bytes = prepare(slot, output.header(slot));
            if (bytes != NOTHING) {
                output.add(slot, bytes);
            }
        }
        for (long bits = cancelled.getAndSet(0); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            output.addCancel(slot, cancelledGenerations.get(slot));
        }
    }

    // Receiving.

    /** Receives what is there; returns whether it was something. Does nothing while another thread receives. Never blocks. */
    final boolean poll() {
        if (!receiving.compareAndSet(false, true)) {
            return false;
        }
        return pollNow();
    }

    /** When the watching thread polls again. */
    enum Again {
        /** As soon as something comes: threads sleep, and none looks. */
        NOW,
        /** After a moment: threads sleep, and one looks, but may be busy for long then. */
        LATER,
        NEVER
    }

    abstract Again again();

    /** {@link #poll} of the watching thread, which waits until it may. */
    final Again pollWatched() {
        for (int step = 0; !receiving.compareAndSet(false, true); step++) {
            if (receiverSleeps) { // that thread receives what has come; what is left to do here is to send
                sendBlocked();
                return blocked ? Again.NOW : again();
            }
            Polling.pause(step);
        }
        watched = true;
        boolean unused = pollNow();
        if (memory.isEnded()) {
            return Again.NEVER;
        }
        return input.hasMore() || blocked ? Again.NOW : again();
    }

    /** Whether the thread that receives is the watching one. */
    final boolean isWatched() {
        return watched;
    }

    /** The thread has set {@link #receiving}. */
    private boolean pollNow() {
        boolean some = false;
        try {
            some = input.receive();
        } catch (OsException | WireException e) {
            failed(e);
        } catch (RuntimeException | Error e) { // likewise
            failed(e);
            throw e;
        } finally {
            watched = false;
            receiving.set(false);
        }
        sendBlocked();
        return some;
    }

    /** Whether a poll finds more to do than the socket's input shows. */
    final boolean hasHidden() {
        return blocked || input.hasMore();
    }

    private void sendBlocked() {
        if (blocked && sending.compareAndSet(false, true)) {
            boolean unused = sendAll();
            sendNow();
        }
    }

    private void failed(Throwable e) {
        memory.end("the channel's connection failed: " + e.getMessage());
    }

    // Sleeping and the end.

    /** The watching thread polls from the next input on, once. */
    final void arm() {
        try {
            boolean out;
            do { // two threads may arm: the last one must know what the other one knew
                out = blocked || input.hasMore();
                watch.arm(key, socket.socket(), Epoll.IN | (out ? Epoll.OUT : 0));
            } while (!out && (blocked || input.hasMore()));
        } catch (OsException e) {
            if (!memory.isEnded()) {
                failed(e);
            }
        }
    }

    /**
     * Sends what was left to others and is unsent since the last tick. Returns whether the next tick must look again. The watching thread,
     * not in the memory.
     */
    final boolean sendLeft() {
        if (!hasOutgoing()) {
            unsent = false;
        } else if (!unsent) {
            unsent = true;
            return true;
        } else if (memory.enter()) {
            try {
                sendNow();
            } finally {
                memory.exit();
            }
        }
        return false;
    }

    /** A moment after something was left. The watching thread, not in the memory. */
    void ticked() {}

    /** {@link #arm} by a thread that is not in the memory. */
    final void armInside() {
        if (memory.enter()) {
            try {
                arm();
            } finally {
                memory.exit();
            }
        }
    }

    /**
     * Sleeps until something comes or the time is over, and receives it; does not sleep if the thread need not wait any more. Returns
     * whether it received something. A platform thread. It keeps others from receiving: they could take what it sleeps for, and it
     * would not wake.
     */
    final boolean sleepAndReceive(BooleanSupplier waits, long sleepNs) {
        for (int step = 0; !receiving.compareAndSet(false, true); step++) {
            Polling.pause(step);
        }
        boolean received;
        receiverSleeps = true;
        try {
            if (!input.hasMore() && waits.getAsBoolean()) {
                boolean unused = socket.socket().awaitReadable(sleepNs);
            }
        } catch (OsException e) {
            failed(e);
        } finally {
            receiverSleeps = false;
            awoke();
            received = pollNow();
        }
        return received;
    }

    /**
     * The channel has ended: sends what was left, and the other end notices after that. No thread sleeps for the connection any more. If
     * another thread is sending, that one does it.
     */
    final void end() {
        ended = true;
        sendNow();
        if (sending.compareAndSet(false, true)) { // for good: nobody sends any more
            socket.wire().shutdown();
        }
        ended();
    }

    /** The channel has ended. */
    void ended() {}

    /** The thread that slept in {@link #sleepAndReceive} receives now. */
    void awoke() {}

    /** Closes the connection. No thread is in the memory any more. */
    final void close() {
        watch.remove(key, socket.socket());
        socket.socket().close(); // without a reset: the other end may still read what was sent
    }
}
