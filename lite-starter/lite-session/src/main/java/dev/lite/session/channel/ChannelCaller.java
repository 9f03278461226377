package dev.lite.session.channel;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.FutexWords;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.StagedWait;
import dev.lite.os.waiting.Turns;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.async.HelpedFutures;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.session.waiting.VirtualWaits;
import dev.lite.session.wire.WireError;
import dev.lite.session.wire.WireText;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The caller's end of a channel; see the package. Any number of platform and virtual threads call at the same time. A call that
 * succeeds allocates nothing.
 */
public final class ChannelCaller implements AutoCloseable {
    private static final byte[] NO_CONTEXT = {};
    private static final long TIMEOUT_NS_MAX = Long.MAX_VALUE / 2;

    private final ChannelMemory memory;
    private final ChannelArea area;
    private final RequestBell bell;
    /** Null: the server is on this host. */
    final @Nullable CallerLink link;

    /** Null: the server is on another host. */
    private final @Nullable StartedHere here;

    final CallStarter starter;

    private final ChannelCounts counts;
    private final CallerSlots slots;
    private final StagedWait wait;
    private final Turns turns;
    private final StagedWait virtualsWait;
    private final AtomicBoolean closed = new AtomicBoolean();
    /** By slot; written by its owner. */
    private final int[] generations;

    /** By slot: its call that no thread waits for. */
    private final AtomicReferenceArray<@Nullable Started> started;

    /** Of such calls. */
    private final HelpedFutures futures;

    private volatile boolean retired;
    private final CountDownLatch endRequested = new CountDownLatch(1);

    /**
     * Takes over the memory; {@link #close} unmaps it.
     *
     * @param function the name of the function and its node, for messages
     * @param spins the largest number of pauses before a thread sleeps
     * @param turns for short calls of many threads
     * @throws IllegalArgumentException when the memory is smaller than the area; it is closed then
     */
    public ChannelCaller(SharedMemory memory, ChannelArea area, String function, int spins, Turns turns) {
        this(memory, area, function, spins, turns, VirtualWaits.STARTER, null, null, null);
    }

    /**
     * The end of a channel to another host. Takes over the memory, which only this end has, and the connection.
     *
     * @param function the name of the function and its node, for messages
     * @param spins the largest number of pauses before a thread sleeps
     * @param waits for virtual threads
     * @param watch of this application
     * @throws IllegalArgumentException when the memory is smaller than the area; all is closed then
     * @throws OsException when the system has no room for one more socket to watch; likewise
     */
    public static ChannelCaller linked(
            SharedMemory memory,
            ChannelArea area,
            String function,
            int spins,
            PolledWaits waits,
            LinkSocket socket,
            LinkWatch watch) {
        return new ChannelCaller(
                memory, area, function, spins, new Turns(), VirtualWaits.STARTER, waits, socket, watch);
    }

    /** @param waiting makes the platform thread that sleeps for virtual threads, and watches calls that no thread waits for */
    ChannelCaller(
            SharedMemory memory, ChannelArea area, String function, int spins, Turns turns, ThreadFactory waiting) {
        this(memory, area, function, spins, turns, waiting, null, null, null);
    }

    private ChannelCaller(
            SharedMemory memory,
            ChannelArea area,
            String function,
            int spins,
            Turns turns,
            ThreadFactory waiting,
            @Nullable PolledWaits waits,
            @Nullable LinkSocket socket,
            @Nullable LinkWatch watch) {
        boolean fits = false;
        try {
            this.memory = new ChannelMemory(memory, area, function);
            fits = true;
        } finally {
            if (!fits && socket != null) {
                socket.socket().close();
            }
        }
        this.area = area;
        bell = new RequestBell(this.memory.submitted(), this.memory.doorbell());
        generations = new int[area.slots()];
        counts = new ChannelCounts(area);
        link = socket == null || watch == null || waits == null
                ? null
                : new CallerLink(this.memory, socket, watch, waits, spins, this::endStarted);
        here = link == null
                ? new StartedHere(this.memory, bell, generations, new Words(), spins, waiting, this::endStarted)
                : null;
        starter = link == null ? Objects.requireNonNull(here) : link;
        wait = StagedWait.ofTurns(spins);
        this.turns = turns;
        virtualsWait = new StagedWait(spins);
        slots = new CallerSlots(area.slotBits(), this::isDropped, this.memory::isEnded);
        started = new AtomicReferenceArray<>(area.slots());
        futures = new HelpedFutures(starter::newWait);
        if (link != null) {
            link.start();
        }
    }

    /**
     * Calls the function and waits for its reply. Both segments are used only during the call. An interrupt does not end the call;
     * it is kept.
     *
     * @param request at most a window of {@link ChannelArea#windowBytes} bytes
     * @param reply filled from its start; the server cannot answer with more
     * @param timeoutNs nanoseconds for all of the call, not negative
     * @return the length of the reply in bytes
     * @throws LimitExceededException when the request is longer than the window: the call was not done
     * @throws LiteTimeoutException when the time has passed; the message says whether the call may have been done
     * @throws ChannelEndedException when the channel has ended, or was retired since calls that were never answered keep its slots; it
     *     says whether the call may have been done
     * @throws LiteException the function's error
     */
    public int call(MemorySegment request, MemorySegment reply, long timeoutNs) {
        return call(NO_CONTEXT, request, reply, System.nanoTime(), timeoutNs);
    }

    /**
     * {@link #call(MemorySegment, MemorySegment, long)} with a context.
     *
     * @param context at most {@link LtRpc#CONTEXT_BYTES_MAX} bytes; with the request at most a window
     * @param beganNs when the call began, of {@link System#nanoTime}: reading the clock again would cost a tenth of a short call
     */
    public int call(byte[] context, MemorySegment request, MemorySegment reply, long beganNs, long timeoutNs) {
        enter();
        try {
            int capacity = (int) Math.min(reply.byteSize(), area.windowBytes());
            int slot = run(context, request, capacity, beganNs, timeoutNs);
            try {
                int length = replyLength(slot, capacity);
                RawMemory.copyTo(memory.window(slot), reply, 0, length);
                counts.addWaited(slot, request.byteSize(), beganNs);
                return length;
            } finally {
                slots.giveBack(slot);
            }
        } finally {
            memory.exit();
        }
    }

    /**
     * {@link #call(MemorySegment, MemorySegment, long)} for a reply of any length up to a window.
     *
     * @return the reply, in an array of its own
     */
    public byte[] call(MemorySegment request, long timeoutNs) {
        return call(NO_CONTEXT, request, System.nanoTime(), timeoutNs);
    }

    /** {@link #call(MemorySegment, long)} with a context, and the begin of the call, of {@link System#nanoTime}. */
    public byte[] call(byte[] context, MemorySegment request, long beganNs, long timeoutNs) {
        enter();
        try {
            int slot = run(context, request, area.windowBytes(), beganNs, timeoutNs);
            try {
                byte[] reply = new byte[replyLength(slot, area.windowBytes())];
                RawMemory.copyTo(memory.window(slot), MemorySegment.ofArray(reply), 0, reply.length);
                counts.addWaited(slot, request.byteSize(), beganNs);
                return reply;
            } finally {
                slots.giveBack(slot);
            }
        } finally {
            memory.exit();
        }
    }

    /** What follows a call that no thread waits for. Must not block or throw. */
    public interface Ending {
        /** The function has replied. */
        void replied(byte[] reply);

        /** The call has failed, with what {@link #call(MemorySegment, long)} would have thrown. */
        void failed(Throwable failure);
    }

    private record Started(Ending ending, long requestBytes, long timeoutNs) {}

    /** A future for a call of {@link #start}: its waiting threads poll. */
    public CompletableFuture<byte[]> newFuture() {
        return futures.newFuture();
    }

    /**
     * Completes a future of {@link #newFuture}. Does not block: stages that depend on it run on a virtual thread.
     *
     * @param completion completes the future
     */
    public void complete(CompletableFuture<byte[]> future, Runnable completion) {
        if (future.getNumberOfDependents() > 0) {
            starter.endsStages();
        }
        futures.complete(future, completion, false);
    }

    /**
     * Starts a call that no thread waits for. Does not block.
     *
     * @param request used only during this method
     * @param beganNs when the call began, of {@link System#nanoTime}
     * @param timeoutNs nanoseconds for all of the call, not negative
     * @return false if no slot is free: the call was not started
     * @throws LimitExceededException when the request is longer than the window
     * @throws ChannelEndedException when the channel has ended
     */
    public boolean start(byte[] context, MemorySegment request, long beganNs, long timeoutNs, Ending ending) {
        enter();
        try {
            check(context, request, timeoutNs);
            if (memory.isEnded()) {
                throw memory.endedException(false);
            }
            int slot = slots.tryTake();
            if (slot < 0) {
                return false;
            }
            int unused = write(slot, context, request, area.windowBytes());
            boolean begun = false;
            try {
                started.set(slot, new Started(ending, request.byteSize(), timeoutNs));
                starter.begin(slot, beganNs + Math.min(timeoutNs, TIMEOUT_NS_MAX));
                begun = true;
            } finally {
                if (!begun) { // its request was not submitted
                    started.set(slot, null);
                    slots.giveBack(slot);
                }
            }
            startBegun(slot, beganNs);
            return true;
        } finally {
            memory.exit();
        }
    }

    private void startBegun(int slot, long beganNs) {
        try {
            starter.start(slot, futures.isFollowed(beganNs), beganNs);
        } catch (RuntimeException | Error e) { // for example no memory to wake the server
            Unrecoverable.report(e); // the call has begun: it ends by its reply, or at its deadline
        }
    }

    /** The call of a slot has ended, for whatever reason. The thread owns the slot, and is in the memory. */
    private void endStarted(int slot) {
        Started its = started.getAndSet(slot, null);
        if (its == null) {
            return;
        }
        byte[] reply;
        try {
            if (!isDone(RawMemory.getIntAcquire(memory.word(slot)), generations[slot])) {
                stopWaiting(slot, generations[slot], its.timeoutNs());
            }
            try {
                reply = new byte[replyLength(slot, area.windowBytes())];
                RawMemory.copyTo(memory.window(slot), MemorySegment.ofArray(reply), 0, reply.length);
                counts.add(slot, its.requestBytes());
            } finally {
                slots.giveBack(slot);
            }
        } catch (RuntimeException | Error failure) {
            its.ending().failed(failure);
            return;
        }
        its.ending().replied(reply);
    }

    private void enter() {
        if (!memory.enter()) {
            throw memory.endedException(false);
        }
    }

    /** Executes a call; returns its slot with the reply, which the thread must give back. */
    private int run(byte[] context, MemorySegment request, int capacity, long beganNs, long timeoutNs) {
        check(context, request, timeoutNs);
        long deadlineNs = beganNs + Math.min(timeoutNs, TIMEOUT_NS_MAX);
        if (link == null) {
            turns.begin(deadlineNs);
        }
        int slot = takeSlot(deadlineNs, timeoutNs);
        int generation = write(slot, context, request, capacity);
        boolean waited = false;
        boolean done;
        try {
            submit(slot);
            done = await(slot, generation, deadlineNs);
            waited = true;
        } finally {
            if (!waited) { // for example no memory for a thread; the server may still write there
                slots.quarantine(slot);
            }
        }
        if (!done) {
            stopWaiting(slot, generation, timeoutNs);
        }
        return slot;
    }

    private void check(byte[] context, MemorySegment request, long timeoutNs) {
        long length = context.length + request.byteSize();
        if (length > area.windowBytes()) {
            WireText.checkRequest(
                    memory.name() + ": the request", request.byteSize(), context.length, area.windowBytes());
        }
        if (timeoutNs < 0) {
            throw new IllegalArgumentException(
                    "%s: the timeout is %d ns; it must not be negative".formatted(memory.name(), timeoutNs));
        }
    }

    private int takeSlot(long deadlineNs, long timeoutNs) {
        int slot = memory.isEnded() ? -1 : slots.take(deadlineNs);
        if (slot >= 0) {
            return slot;
        }
        if (memory.isEnded()) {
            throw memory.endedException(false);
        }
        if (slots.isCrowded()) { // through the nodes, such calls keep nothing after their deadlines
            retire();
            if (deadlineNs - System.nanoTime() > 0) {
                throw new ChannelEndedException(
                        "%s: %d of %d slots are in use by calls that were never answered; the call was not done"
                                .formatted(memory.name(), slots.quarantined(), area.slots()),
                        false);
            }
        }
        throw new LiteTimeoutException(
                "%s: no slot was free within %s; all %d are in use, %d by calls that timed out; the call was not done"
                        .formatted(memory.name(), Durations.text(timeoutNs), area.slots(), slots.quarantined()));
    }

    /** Writes the request to the slot; returns its generation. */
    private int write(int slot, byte[] context, MemorySegment request, int capacity) {
        int length = context.length + (int) request.byteSize();
        try {
            if (context.length > 0) {
                RawMemory.copyFrom(MemorySegment.ofArray(context), 0, memory.window(slot), context.length);
            }
            RawMemory.copyFrom(request, 0, memory.window(slot) + context.length, length - context.length);
        } catch (RuntimeException
                | Error e) { // a closed segment, or one of another thread, or a file that was truncated
            slots.giveBack(slot);
            throw e;
        }
        int generation = SlotWord.next(generations[slot]);
        generations[slot] = generation;
        RawMemory.putInt(
                memory.slot(slot) + ChannelArea.REQUEST_LENGTH, length | context.length << ChannelArea.CONTEXT_SHIFT);
        RawMemory.putInt(memory.slot(slot) + ChannelArea.CAPACITY, capacity);
        RawMemory.putIntRelease(memory.word(slot), SlotWord.of(generation, SlotWord.PENDING));
        return generation;
    }

    private void submit(int slot) {
        if (link == null) {
            boolean unused = bell.submit(slot);
        } else {
            link.submit(slot);
        }
    }

    /** Waits for the reply; returns whether it is there. */
    private boolean await(int slot, int generation, long deadlineNs) {
        if (link == null) {
            return awaitHere(slot, generation, deadlineNs);
        }
        if (Thread.currentThread().isVirtual()) {
            link.awaitVirtually(slot, generation, deadlineNs);
        } else {
            link.role.await(slot, generation, deadlineNs);
        }
        return isDone(RawMemory.getIntAcquire(memory.word(slot)), generation);
    }

    private boolean awaitHere(int slot, int generation, long deadlineNs) {
        long word = memory.word(slot);
        StagedWait stages = Thread.currentThread().isVirtual() ? virtualsWait : wait;
        int left = stages.begin(1);
        if (stages == virtualsWait) {
            left = StagedWait.yieldsOnly(left); // pauses would keep the others from the carrier
        }
        while (left != 0 && isWaiting(word, generation)) {
            left = stages.pause(left);
        }
        if (isWaiting(word, generation)) {
            turns.late();
            sleepForReply(slot, deadlineNs);
        } else {
            stages.hit(left);
        }
        return isDone(RawMemory.getIntAcquire(word), generation);
    }

    private void sleepForReply(int slot, long deadlineNs) {
        boolean virtual = Thread.currentThread().isVirtual();
        int generation = generations[slot];
        long word = memory.word(slot);
        while (isWaiting(word, generation) && !memory.isEnded() && System.nanoTime() - deadlineNs < 0) {
            if (SlotWord.state(RawMemory.getIntAcquire(word)) == SlotWord.PENDING) {
                bell.ringAgain();
            }
            if (virtual) {
                Objects.requireNonNull(here).waits.await(slot, deadlineNs);
                continue;
            }
            int expected = announce(word, generation);
            if (expected != 0 && !memory.isEnded()) {
                memory.sleep(word, expected, deadlineNs);
            }
        }
    }

    private static boolean isWaiting(long word, int generation) {
        return SlotWord.isWaiting(RawMemory.getIntAcquire(word), generation);
    }

    private static boolean isDone(int word, int generation) {
        return SlotWord.state(word) == SlotWord.DONE && SlotWord.generation(word) == generation;
    }

    /** Announces the sleep; returns the value with which the word may be slept on, or 0. */
    static int announce(long word, int generation) {
        for (int tries = 0; tries < ChannelMemory.TRIES_MAX; tries++) {
            int seen = RawMemory.getIntVolatile(word);
            if (!SlotWord.isWaiting(seen, generation)) {
                return 0;
            }
            int announced = seen | SlotWord.SLEEPING;
            if (seen == announced || RawMemory.compareAndSetInt(word, seen, announced)) {
                return announced;
            }
        }
        return 0;
    }

    /** Cancels the call and throws; or returns, if the reply has come meanwhile. */
    private void stopWaiting(int slot, int generation, long timeoutNs) {
        long word = memory.word(slot);
        for (int tries = 0; tries < ChannelMemory.TRIES_MAX; tries++) {
            int seen = RawMemory.getIntVolatile(word);
            if (isDone(seen, generation)) {
                return;
            }
            int state = SlotWord.state(seen);
            boolean valid = SlotWord.generation(seen) == generation
                    && (state == SlotWord.PENDING || state == SlotWord.TAKEN)
                    && (!SlotWord.has(seen, SlotWord.ENDED) || memory.isEnded());
            if (!valid) {
                memory.endFor("slot %d's word".formatted(slot), seen, "of generation " + generation);
                break;
            }
            if (RawMemory.compareAndSetInt(word, seen, SlotWord.of(generation, SlotWord.CANCELLED))) {
                slots.quarantine(slot);
                if (link != null && state == SlotWord.TAKEN) {
                    link.cancel(slot, generation);
                }
                throw stopped(state == SlotWord.TAKEN, timeoutNs);
            }
        }
        slots.quarantine(slot);
        throw stopped(true, timeoutNs);
    }

    private RuntimeException stopped(boolean maybeDone, long timeoutNs) {
        if (memory.isEnded()) {
            return memory.endedException(maybeDone);
        }
        return new LiteTimeoutException("%s: no reply within %s; %s"
                .formatted(
                        memory.name(),
                        Durations.text(timeoutNs),
                        maybeDone ? "the call may have been done" : "the call was not done"));
    }

    /** The length of the reply, or throws the function's error. Reads each word once. */
    private int replyLength(int slot, int capacity) {
        int status = RawMemory.getInt(memory.slot(slot) + ChannelArea.STATUS);
        int length = RawMemory.getInt(memory.slot(slot) + ChannelArea.REPLY_LENGTH);
        int limit = status == 0 ? capacity : area.windowBytes();
        if (length < 0 || length > limit) {
            memory.endFor("the length of the reply in slot " + slot, length, "0 to " + limit);
            throw memory.endedException(true);
        }
        if (status == 0) {
            return length;
        }
        byte[] text = new byte[length];
        RawMemory.copyTo(memory.window(slot), MemorySegment.ofArray(text), 0, length);
        if (status != LiteException.Code.RPC_FAILED.number()) { // no server writes it
            throw new RpcFailedException(
                    RpcStatus.UNKNOWN,
                    "%s: unknown status %d of the server: %s"
                            .formatted(memory.name(), status, new String(text, StandardCharsets.UTF_8)));
        }
        throw WireError.exception(status, text, memory.name());
    }

    private boolean isDropped(int slot) {
        if (link != null) {
            boolean unused = link.poll();
        }
        return isDone(RawMemory.getIntAcquire(memory.word(slot)), generations[slot]);
    }

    /** Whether the channel has ended. */
    public boolean isEnded() {
        return memory.hasEnded();
    }

    /** No call should begin any more; those under way continue. The caller closes this end when it {@linkplain #isIdle is idle}. */
    public void retire() {
        retired = true;
    }

    /** Whether {@link #retire} was called, or the channel has retired by itself: calls that were never answered keep its slots. */
    public boolean isRetired() {
        return retired;
    }

    /** Whether no call is under way, and none that timed out may still be answered; true after the end of this end, too. */
    public boolean isIdle() {
        if (!memory.enter()) { // slots in quarantine are read from the memory
            return true;
        }
        try {
            return slots.isIdle();
        } finally {
            memory.exit();
        }
    }

    /** Whether a call is under way that has not timed out; false after the end of this end. */
    public boolean isAwaited() {
        return !memory.hasEnded() && slots.isAwaited();
    }

    /**
     * Keeps calls from beginning, so that this end can be closed; those that still come wait for the end of the channel.
     *
     * @return false if a call is under way that has not timed out
     */
    public boolean tryEndUse() {
        return memory.hasEnded() || slots.tryTakeAll();
    }

    /** The calls that succeeded. */
    public ChannelCounts counts() {
        return counts;
    }

    /** The longest request and the longest reply in bytes. */
    public int windowBytes() {
        return area.windowBytes();
    }

    /** Ends the channel for both ends: calls under way fail. Idempotent; the first reason counts. */
    public void end(String reason) {
        try {
            if (memory.enter()) {
                try {
                    memory.end(reason);
                    slots.wakeAll();
                    if (here != null) {
                        here.end();
                    }
                } finally {
                    memory.exit();
                }
            }
        } finally {
            endRequested.countDown();
        }
    }

    /**
     * Waits for a call of {@link #end} or {@link #close}; an end by the other side or by a wrong value does not count. An interrupt does
     * not end the wait; it is kept.
     *
     * @return false if that did not happen in time
     */
    public boolean awaitToldToEnd(long timeoutNs) {
        long beganNs = System.nanoTime();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return endRequested.await(timeoutNs - (System.nanoTime() - beganNs), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Ends the channel, waits for the calls under way to fail, and unmaps the memory. Idempotent. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            end("the caller's end was closed");
            memory.close();
        }
    }

    /** The words of the slots, for virtual threads. */
    private final class Words implements VirtualWaits.Words {
        @Override
        public boolean isOver(int slot) {
            return !isWaiting(memory.word(slot), generations[slot]) || memory.isEnded();
        }

        @Override
        public boolean announce(int slot, FutexWords words) {
            long word = memory.word(slot);
            int expected = ChannelCaller.announce(word, generations[slot]);
            if (expected == 0 || memory.isEnded()) {
                return false;
            }
            words.add(word, expected);
            return true;
        }
    }
}
