package dev.lite.session.channel;

import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.os.wire.Wire;
import dev.lite.os.wire.WireException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Carries a channel between two hosts. Each end has the channel's memory for itself, and a link: it sends what the other end must see
 * over a TCP connection of the channel's own, and writes what it receives into the memory. So callers and servers work as on one host.
 *
 * <p>A frame in native byte order of x86-64 and ARM (little-endian): kind and slot (1 byte each), 2 bytes of 0, the generation (4), two
 * numbers (4 each), then the bytes of the window.
 *
 * <pre>
 *   kind          first number                             second number            bytes
 *   1 REQUEST     {@link ChannelArea#REQUEST_LENGTH}'s     the capacity             the context and the request
 *   2 CANCEL      0                                        0
 *   3 REPLY       the status                               the length               the reply; also for a request that was dropped
 * </pre>
 *
 * <p><b>Sending.</b> A thread notes its slot and sends, unless another thread is just sending, which then sends that slot, too: several
 * calls share one system call. What a slot sends is in its window, which stays as it is until the frame was sent. So a connection that
 * takes no more needs no further memory.
 *
 * <p><b>Receiving.</b> Any thread that waits polls; one at a time. Before the last one sleeps, it {@linkplain #arm arms} the link: then
 * the thread of {@link LinkWatch} polls as soon as something comes.
 *
 * <p><b>Trust.</b> The other end may send anything. A frame that does not fit the state of its slot ends the channel. Threads are in the
 * memory ({@link ChannelMemory#enter}) where a method does not say otherwise.
 */
abstract class ChannelLink {
    static final int HEADER_BYTES = 16;
    static final int REQUEST = 1;
    static final int CANCEL = 2;
    static final int REPLY = 3;

    /** A look costs a system call of 300 to 400 ns, a pause 30 to 50 ns. */
    static final int POLL_COST = 8;

    /** Messages that follow each other faster than this may wait for each other. */
    private static final long OFTEN_NS = 100_000;

    private static final String ENDED = "the other end has closed the channel's connection";

    /** No frame for this slot. */
    static final int NOTHING = -1;

    private static final int SLOT_OFFSET = 1;
    private static final int GENERATION_OFFSET = 4;
    private static final int FIRST_OFFSET = 8;
    private static final int SECOND_OFFSET = 12;

    private static final int RANGE_BYTES = 16;
    /** For each slot a header and a window, and a header to cancel. */
    private static final int RANGES_PER_SLOT = 3;

    private static final int INPUT_BYTES = 32 << 10;
    /** A poll handles at most so many frames, so that nobody can keep a thread in it. */
    private static final int FRAMES_MAX = 256;

    final ChannelMemory memory;
    final ChannelArea area;
    final LinkWatch watch;
    private final LinkSocket socket;
    private final Wire wire;

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
    /** A poll left frames that no socket shows. */
    private volatile boolean more;

    /** Freed by the garbage collector: a thread that has left the memory uses them no more. */
    @SuppressWarnings("unused")
    private final MemorySegment buffers;

    private final long headers;
    private final long ranges;
    private final long input;

    /** Of the watch. Written once. */
    private long key;

    /** When something was sent last. */
    private volatile long sentNs = System.nanoTime();

    // Used by the thread that sends.
    private int rangesFrom;
    private int rangesTo;

    // Used by the thread that receives.
    private int inputFrom;
    private int inputTo;
    /** Where the rest of a frame goes, and how much that is. */
    private long restAt;

    private int restBytes;
    private int kind;
    private int slot;
    private int generation;
    private int first;
    private int second;
    private boolean watched;

    /** Whether something was unsent at the last tick. The watching thread's. */
    private boolean unsent;

    ChannelLink(ChannelMemory memory, LinkSocket socket, LinkWatch watch) {
        this.memory = memory;
        this.area = memory.area;
        this.socket = socket;
        this.watch = watch;
        wire = socket.wire();
        cancelledGenerations = new AtomicIntegerArray(area.slots());
        long headersBytes = 2L * area.slots() * HEADER_BYTES;
        long rangesBytes = (long) RANGES_PER_SLOT * area.slots() * RANGE_BYTES;
        buffers = Arena.ofAuto().allocate(headersBytes + rangesBytes + INPUT_BYTES, Long.BYTES);
        headers = buffers.address();
        ranges = headers + headersBytes;
        input = ranges + rangesBytes;
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
     * Prepares the frame of a slot: calls {@link #put} and returns the number of bytes of the window that follow, or {@link #NOTHING}.
     * The thread that sends.
     */
    abstract int prepare(int itsSlot, long header);

    /** Checks a header; returns how many bytes follow, at most a window, or {@link #NOTHING} if the channel has ended for it. */
    abstract int check(int itsKind, int itsSlot, int itsGeneration, int itsFirst, int itsSecond);

    /** A whole frame is there, with the bytes in its window. */
    abstract void arrived(int itsKind, int itsSlot, int itsGeneration, int itsFirst, int itsSecond);

    static void put(long header, int itsKind, int itsSlot, int itsGeneration, int itsFirst, int itsSecond) {
        RawMemory.putLong(header, itsKind | ((long) itsSlot << (Byte.SIZE * SLOT_OFFSET)));
        RawMemory.putInt(header + GENERATION_OFFSET, itsGeneration);
        RawMemory.putInt(header + FIRST_OFFSET, itsFirst);
        RawMemory.putInt(header + SECOND_OFFSET, itsSecond);
    }

    // Sending.

    /** A slot has something to send. Never blocks. */
    final void send(int itsSlot) {
        note(itsSlot);
        sendNow();
    }

    /** A slot has something to send with the next {@link #sendNow}. */
    final void note(int itsSlot) {
        outgoing.getAndUpdate(bits -> bits | 1L << itsSlot);
    }

    /** The request of a slot was cancelled. The slot may be in use again by now. Never blocks. */
    final void cancel(int itsSlot, int itsGeneration) {
        cancelledGenerations.set(itsSlot, itsGeneration);
        cancelled.getAndUpdate(bits -> bits | 1L << itsSlot);
        sendNow();
    }

    /** A slot has something to send, which a thread that polls, or will soon, sends. Never blocks. */
    final void leave(int itsSlot) {
        note(itsSlot);
        if (virtuallyPolled) { // after the note: who ends that sends what was noted
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

    /** That thread may not poll any more. */
    final void endVirtualPolls() {
        virtuallyPolled = false;
        sendNow();
    }

    /** Whether something was sent just now. */
    final boolean sendsOften() {
        return System.nanoTime() - sentNs < OFTEN_NS;
    }

    final boolean hasOutgoing() {
        return outgoing.get() != 0 || cancelled.get() != 0;
    }

    /** Sends what was noted. Never blocks. */
    final void sendNow() {
        // Who finds another thread sending leaves its bit to that one, which looks again after it has ended.
        while (hasOutgoing() && !blocked && sending.compareAndSet(false, true)) {
            sendAll();
        }
    }

    /** The thread has set {@link #sending}. */
    private void sendAll() {
        boolean all = false;
        try {
            while (!all && flush()) {
                all = !hasOutgoing();
                if (!all) {
                    gather();
                }
            }
            sentNs = System.nanoTime();
        } catch (OsException e) {
            // Replies may have come before the other end closed the connection. Who receives just now notices that end,
            // too.
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
            blocked = !all; // also after a failure: then nobody tries again and again
            sending.set(false);
            if (ended) {
                end();
            } else if (!all) {
                arm();
            }
        }
    }

    private void gather() {
        rangesFrom = 0;
        rangesTo = 0;
        for (long bits = outgoing.getAndSet(0); bits != 0; bits &= bits - 1) {
            int its = Long.numberOfTrailingZeros(bits);
            long header = headers + (long) its * HEADER_BYTES;
            int bytes = prepare(its, header);
            if (bytes >= 0) {
                addRange(header, HEADER_BYTES);
                addRange(memory.window(its), bytes);
            }
        }
        for (long bits = cancelled.getAndSet(0); bits != 0; bits &= bits - 1) {
            int its = Long.numberOfTrailingZeros(bits);
            long header = headers + (long) (area.slots() + its) * HEADER_BYTES;
            put(header, CANCEL, its, cancelledGenerations.get(its), 0, 0);
            addRange(header, HEADER_BYTES);
        }
    }

    private void addRange(long address, long bytes) {
        if (bytes > 0) {
            long range = ranges + (long) rangesTo++ * RANGE_BYTES;
            RawMemory.putLong(range, address);
            RawMemory.putLong(range + Long.BYTES, bytes);
        }
    }

    /** Sends the ranges; returns whether all were sent. */
    private boolean flush() {
        while (rangesFrom < rangesTo) {
            long taken = wire.sendVector(ranges + (long) rangesFrom * RANGE_BYTES, rangesTo - rangesFrom);
            if (taken == 0) {
                return false;
            }
            skip(taken);
        }
        return true;
    }

    private void skip(long taken) {
        long left = taken;
        while (left > 0) {
            long range = ranges + (long) rangesFrom * RANGE_BYTES;
            long bytes = RawMemory.getLong(range + Long.BYTES);
            if (bytes > left) {
                RawMemory.putLong(range, RawMemory.getLong(range) + left);
                RawMemory.putLong(range + Long.BYTES, bytes - left);
                return;
            }
            left -= bytes;
            rangesFrom++;
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
        return more || blocked ? Again.NOW : again();
    }

    /** Whether the thread that receives is the watching one. */
    final boolean isWatched() {
        return watched;
    }

    /** The thread has set {@link #receiving}. */
    private boolean pollNow() {
        boolean some = false;
        try {
            some = receive();
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

    private void sendBlocked() {
        if (blocked && sending.compareAndSet(false, true)) {
            sendAll();
            sendNow();
        }
    }

    private boolean receive() {
        int frames = 0;
        boolean filled = false;
        more = false;
        while (!memory.isEnded()) {
            if (restBytes > 0 ? receiveRest() : takeHeader()) {
                if (restBytes == 0) {
                    arrived(kind, slot, generation, first, second);
                    frames++;
                    if (frames == FRAMES_MAX) {
                        more = true;
                        return true;
                    }
                }
                continue;
            }
            if (restBytes > 0 || (filled && wire.isDrained()) || !fill()) { // nothing more is there
                return frames > 0;
            }
            filled = true;
        }
        return frames > 0;
    }

    /** Takes the next header from the input, if it is there whole. */
    private boolean takeHeader() {
        if (inputTo - inputFrom < HEADER_BYTES) {
            return false;
        }
        long header = input + inputFrom;
        long head = RawMemory.all().get(ValueLayout.JAVA_LONG_UNALIGNED, header);
        kind = (int) head & 0xff;
        slot = (int) head >>> Byte.SIZE;
        generation = (int) (head >>> Integer.SIZE);
        long numbers = RawMemory.all().get(ValueLayout.JAVA_LONG_UNALIGNED, header + FIRST_OFFSET);
        first = (int) numbers;
        second = (int) (numbers >>> Integer.SIZE);
        if (slot < 0 || slot >= area.slots()) {
            memory.endFor("the slot of a frame", slot, "less than " + area.slots());
            return false;
        }
        int bytes = check(kind, slot, generation, first, second);
        if (bytes < 0) {
            return false;
        }
        inputFrom += HEADER_BYTES;
        restAt = memory.window(slot);
        restBytes = bytes;
        return true;
    }

    /** Moves bytes of a frame to its window; returns whether any were there. */
    private boolean receiveRest() {
        int there = Math.min(restBytes, inputTo - inputFrom);
        if (there > 0) {
            RawMemory.copy(input + inputFrom, restAt, there);
            inputFrom += there;
        } else {
            long got = wire.receive(restAt, restBytes);
            if (got == Wire.END) {
                memory.end(ENDED);
            }
            if (got <= 0) {
                return false;
            }
            there = (int) got;
        }
        restAt += there;
        restBytes -= there;
        return true;
    }

    private boolean fill() {
        if (inputFrom > 0) {
            RawMemory.copy(input + inputFrom, input, inputTo - inputFrom);
            inputTo -= inputFrom;
            inputFrom = 0;
        }
        long got = wire.receive(input + inputTo, INPUT_BYTES - inputTo);
        if (got == Wire.END) {
            memory.end(ENDED);
        }
        if (got <= 0) {
            return false;
        }
        inputTo += (int) got;
        return true;
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
                out = blocked || more;
                watch.arm(key, socket.socket(), Epoll.IN | (out ? Epoll.OUT : 0));
            } while (!out && (blocked || more));
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
     * Sleeps until something comes or the time is over, and receives it; or returns when the word shows no wait any more. A platform
     * thread. It keeps others from receiving, or they could take what it sleeps for, and it would sleep on.
     */
    final void sleepAndReceive(long word, int itsGeneration, long sleepNs) {
        for (int step = 0; !receiving.compareAndSet(false, true); step++) {
            Polling.pause(step);
        }
        receiverSleeps = true;
        try {
            if (!more && SlotWord.isWaiting(RawMemory.getIntAcquire(word), itsGeneration)) {
                boolean unused = socket.socket().awaitReadable(sleepNs);
            }
        } catch (OsException e) {
            failed(e);
        } finally {
            receiverSleeps = false;
            boolean unused = pollNow();
        }
    }

    /**
     * The channel has ended: sends what was left, and the other end notices after that. No thread sleeps for the connection any more. If
     * another thread is just sending, that one does it.
     */
    final void end() {
        ended = true;
        sendNow();
        if (sending.compareAndSet(false, true)) { // for good: nobody sends any more
            wire.shutdown();
        }
        ended();
    }

    /** The channel has ended. */
    void ended() {}

    /** Closes the connection. No thread is in the memory any more. */
    final void close() {
        watch.remove(key, socket.socket());
        socket.socket().close(); // without a reset: the other end may still read what was sent
    }
}
