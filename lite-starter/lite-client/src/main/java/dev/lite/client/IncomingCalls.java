package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.FutexWords;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelEndedException;
import dev.lite.session.channel.ChannelGroup;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.ReceivedRequest;
import dev.lite.session.protocol.FurtherCalls;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * How the threads of one server wait for its calls. Any thread.
 *
 * <p>Without channels each thread waits by a command of its own. With channels, the server has one command under way, the standing
 * receive, and all its threads wait for that and for the channels. The thread that takes its call submits it again at once. The node
 * ends a command of the wrong kind at once, so no thread waits for the wrong thing.
 */
final class IncomingCalls {
    private static final long STANDING_NS = TimeUnit.MINUTES.toNanos(1);
    /** After a command that the node ended because it knows of a change of channels later or earlier than this application. */
    private static final long AGAIN_NS = 200_000;
    /** How long the end of a server waits for the end of its standing receive, which the node brings about. */
    private static final long REFUSE_NS = TimeUnit.SECONDS.toNanos(1);
    /** The pause between two looks of a thread that waits for the end of the standing receive. */
    private static final long LAST_NS = 1_000_000;
    /** The second thread of a server looks so often for calls that the command of the first one brings. */
    private static final long LOOK_NS = 20_000_000;

    /** A closed server looks so often for channels in which no call waits for its answer any more. */
    private static final long UNAWAITED_NS = 500_000_000;

    private final RpcCommandPath commands;
    private final String function;
    private final long id;
    private final Made made;
    private final ChannelGroup group;
    /** The channels of a closed server, for the calls that it has received: no thread of the application waits for them. */
    private final ChannelGroup leaving;

    private final Standing standing = new Standing();
    /** The node sends no calls any more. */
    private volatile boolean left;

    /** Room for a request, so that a single thread does without {@link #rooms}. */
    private final AtomicReference<@Nullable ReceivedRequest> spare = new AtomicReference<>();

    /** Bound: one for each thread that has waited at the same time as others. */
    private final ConcurrentLinkedDeque<ReceivedRequest> rooms = new ConcurrentLinkedDeque<>();

    private final CallsAhead<RpcCall> ahead;

    /** Makes calls for the application. */
    interface Made {
        /** A call that a command has received into this slot, perhaps with others. */
        RpcCall fromNode(int slot, long length);

        /** A call that a channel has received. */
        RpcCall fromChannel(ReceivedRequest request);

        /**
         * Waits until the caller's name is known.
         *
         * @throws LiteTimeoutException when the deadline passed, and then the next receive gets the call; or when the node did not
         *     answer, and then the call was refused
         */
        void awaitCaller(RpcCall call, long deadlineNs);

        /** Refuses a call of the node that no thread has taken. */
        void refuse(long number);

        /** Returns the slot of a receive. If that is still under way, no thread waits for it: refuses the calls that it brings. */
        void returnSlot(int slot);
    }

    /** Takes calls of channels for a virtual thread that waits. Must not block. */
    interface Taker {
        /** Takes a call; returns whether it takes more. */
        boolean take(RpcCall call);
    }

    /**
     * @param id the function's number
     * @param ahead where {@link Made#fromNode} puts further calls
     */
    IncomingCalls(RpcCommandPath commands, String function, long id, CallsAhead<RpcCall> ahead, Made made) {
        this.ahead = ahead;
        this.commands = commands;
        this.function = function;
        this.id = id;
        this.made = made;
        ClientChannels channels = commands.session().channels();
        int spins = commands.session().config().spins();
        group = new ChannelGroup(channels::left, channels.waits(), spins);
        leaving = new ChannelGroup(channels::left, channels.waits(), spins);
    }

    String function() {
        return function;
    }

    /** Whether there are channels. */
    boolean hasChannels() {
        return !group.isEmpty();
    }

    /** Adds a channel; returns false if there is no room, or the server was closed. */
    boolean add(ChannelServer channel) {
        return group.add(channel);
    }

    /** Removes a channel and closes it. */
    void remove(ChannelServer channel) {
        group.remove(channel);
        leaving.remove(channel);
    }

    /**
     * The server is closed at the node, whose callers close their channels when their calls have ended. Until {@link #endReceives}, those
     * are received.
     */
    void leaveNode() {
        left = true;
    }

    /** If there are no channels, none can come any more. Returns whether there are none. */
    boolean endWithoutChannels() {
        return group.closeIfEmpty();
    }

    /** Whether a call of the node may come that no thread waits for. */
    boolean isStanding() {
        return standing.isSubmitted();
    }

    /** Refuses the call that came so, if any. The node knows that the server is closed. */
    void refuseStanding() {
        standing.refuse();
    }

    /** Ends all waits, and {@linkplain #refuseStanding refuses}. The channels stay until {@link #finish}, for the received calls. */
    void endReceives() {
        group.moveTo(leaving);
        standing.end();
    }

    /**
     * After {@link #endReceives}: refuses the requests that still come, which then go through the nodes, until the callers have closed
     * all channels. After the deadline it also closes those in which {@linkplain ChannelServer#isAwaited no call waits for its answer}. So
     * no channel lasts longer than its calls, or the session.
     */
    void finish(long deadlineNs) {
        try {
            ReceivedRequest room = new ReceivedRequest(new ChannelArea(1, ChannelArea.WINDOW_BYTES_MAX));
            while (!leaving.isEmpty()) {
                long nowNs = System.nanoTime();
                long untilNs = deadlineNs;
                if (deadlineNs - nowNs <= 0) {
                    leaving.closeUnawaited("the server was closed, and its caller does not wait any more");
                    untilNs = nowNs + UNAWAITED_NS;
                }
                if (leaving.receive(room, null, untilNs)) {
                    refuse(room, String.valueOf(RpcCommandPath.closed(function).getMessage()));
                }
            }
        } finally {
            close();
        }
    }

    private static void refuse(ReceivedRequest request, String why) {
        try {
            request.channel().fail(request.call(), RpcStatus.NOT_SERVED, 0, why);
        } catch (ChannelEndedException e) {
            // nobody waits for it
        }
    }

    /** Closes all channels, ends the waits for them, and {@linkplain #refuseStanding refuses}. */
    void close() {
        group.close();
        leaving.close();
        standing.end();
    }

    /** Waits for a call. */
    RpcCall receive(long deadlineNs) {
        return receive(null, deadlineNs);
    }

    /** {@link #receive(long)} of a thread that may have a call already, whose caller's name may be unknown. */
    RpcCall receive(@Nullable RpcCall first, long deadlineNs) {
        return Objects.requireNonNull(receive(first, deadlineNs, null, FurtherCalls.MAX));
    }

    /**
     * Waits for a call that the taker does not take. A virtual thread.
     *
     * @param further how many further calls the thread could start at once
     * @return null: the taker takes no more
     */
    @Nullable
    RpcCall serve(Taker taker, long deadlineNs, int further) {
        return receive(null, deadlineNs, new Taking(taker), Math.min(further, FurtherCalls.MAX));
    }

    /** Makes calls for the taker. */
    private final class Taking implements ChannelGroup.Taker {
        private final Taker taker;
        private boolean full;

        Taking(Taker taker) {
            this.taker = taker;
        }

        @Override
        public boolean take(ReceivedRequest request) {
            full = !taker.take(fromChannel(request));
            return !full;
        }
    }

    private @Nullable RpcCall receive(@Nullable RpcCall first, long deadlineNs, @Nullable Taking taking, int further) {
        RpcCall call = first;
        while (true) {
            if (call == null) {
                call = next(deadlineNs, taking, further);
            }
            if (call == null) {
                return null;
            }
            try {
                made.awaitCaller(call, deadlineNs); // without a slot
                return call;
            } catch (LiteTimeoutException e) {
                if (deadlineNs - System.nanoTime() <= 0) {
                    throw e;
                }
                call = null;
            }
        }
    }

    private @Nullable RpcCall next(long deadlineNs, @Nullable Taking taking, int further) {
        while (true) {
            RpcCall next = commands.session().isOpen() ? ahead.poll() : null;
            if (next != null) {
                return next;
            }
            if (hasChannels() || standing.isSubmitted()) {
                RpcCall call = besideChannels(deadlineNs, taking);
                if (call != null || (taking != null && taking.full)) {
                    return call;
                }
                if (deadlineNs - System.nanoTime() <= 0) {
                    throw new LiteTimeoutException(
                            "no call of the function \"%s\" came before the deadline".formatted(function));
                }
                commands.requireOpen();
                continue;
            }
            try {
                return fromNode(deadlineNs, further);
            } catch (LiteTimeoutException e) {
                if (deadlineNs - System.nanoTime() <= 0) {
                    throw e;
                }
                // The function has channels, it is time to look for calls that another thread got, or the turn is over.
                Polling.sleepNs(AGAIN_NS);
            }
        }
    }

    private RpcCall fromNode(long deadlineNs, int further) {
        String what = RpcCommandPath.what(Op.RECEIVE, function);
        ReceiveSlots.Place place = commands.session().receives().take(what, deadlineNs);
        int asked = ahead.ask(further);
        try {
            long timeoutNs = place.timeoutNs(timeoutNs(deadlineNs));
            // Not for longer: the function may have channels by then, whose calls need no slot.
            int slot = commands.acquire(SlotPool.Use.RECEIVE, what, Math.min(ReceiveSlots.TURN_NS, timeoutNs));
            try {
                long leftNs = Math.min(timeoutNs, Math.max(1, deadlineNs - System.nanoTime()));
                return made.fromNode(slot, commands.run(what, slot, Op.RECEIVE, id, asked, 0, 0, 0, leftNs));
            } finally {
                made.returnSlot(slot);
            }
        } finally {
            if (asked > 0) {
                ahead.asked();
            }
            commands.session().receives().giveBack(place);
        }
    }

    /**
     * How long a command that waits for calls may take, after {@link CallsAhead#ask}: not long if the command of another thread may
     * bring calls, or has brought some since this thread looked.
     */
    long timeoutNs(long deadlineNs) {
        long leftNs = Math.max(1, deadlineNs - System.nanoTime());
        return ahead.mayCome() || !ahead.isEmpty() ? Math.min(LOOK_NS, leftNs) : leftNs;
    }

    /** Waits for channels and the standing receive; null: nothing came, the channels are gone, or the taker takes no more. */
    private @Nullable RpcCall besideChannels(long deadlineNs, @Nullable Taking taking) {
        if (!standing.enter()) {
            throw commands.session().isOpen()
                    ? RpcCommandPath.closed(function)
                    : commands.session().lost();
        }
        try {
            ReceivedRequest room = room();
            try {
                return besideChannels(room, deadlineNs, taking);
            } finally {
                giveBack(room);
            }
        } finally {
            standing.exit(); // also if there is no memory for a room
        }
    }

    private @Nullable RpcCall besideChannels(ReceivedRequest room, long deadlineNs, @Nullable Taking taking) {
        long untilNs = standing.submit(deadlineNs);
        if (taking == null ? group.receive(room, standing, untilNs) : group.serve(room, standing, taking, untilNs)) {
            return fromChannel(room);
        }
        if (taking != null && taking.full) {
            return null;
        }
        return hasChannels() ? standing.take() : standing.takeLast(deadlineNs);
    }

    /** The call of a request. Without memory for it, the call goes through the nodes: nobody would answer it. */
    private RpcCall fromChannel(ReceivedRequest request) {
        try {
            return made.fromChannel(request);
        } catch (Throwable e) {
            try {
                refuse(request, "the application that serves \"%s\" could not take the call".formatted(function));
            } catch (Throwable again) {
                Unrecoverable.note(e, again);
            }
            throw e;
        }
    }

    private ReceivedRequest room() {
        ReceivedRequest room = spare.getAndSet(null);
        if (room == null) {
            room = rooms.pollFirst();
        }
        return room == null ? new ReceivedRequest(new ChannelArea(1, ChannelArea.WINDOW_BYTES_MAX)) : room;
    }

    private void giveBack(ReceivedRequest room) {
        if (spare.getPlain() == null) { // two threads may replace one room by another: one is lost
            spare.setRelease(room);
            return;
        }
        try {
            rooms.addFirst(room);
        } catch (RuntimeException | Error e) { // no memory: it is let go, since this thread may have a call
            Unrecoverable.report(e);
        }
    }

    /**
     * The command that waits for a call beside the channels. Threads {@linkplain #enter enter} before they look at it, and its slot is
     * returned only when nobody is in it: until then the slot's memory stays mapped.
     */
    private final class Standing implements ChannelGroup.Beside {
        /** It has no slot. */
        private static final int NONE = 0;
        /** The command is under way, or done. */
        private static final int SUBMITTED = 1;
        /** One thread has it. */
        private static final int TAKEN = 2;
        /** It has a slot without a command. */
        private static final int KEPT = 3;

        private static final int ENDED = Integer.MIN_VALUE;
        private static final long NO_CALL = -1;

        private final AtomicInteger phase = new AtomicInteger(NONE);
        /** Threads that look at it, and {@link #ENDED}. */
        private final AtomicInteger users = new AtomicInteger();

        private volatile int slot = -1;
        /** For its command; null: it has none. Written by the thread that has it. */
        private volatile ReceiveSlots.@Nullable Place place;
        /** There was no place or slot for it, or its turn is over: threads wait for the channels only, and try again soon. */
        private volatile boolean placeless;

        /** When its next turn may begin: after one, others have theirs. */
        private volatile long turnNs = System.nanoTime();

        private long submittedNs;

        boolean isSubmitted() {
            return !isIdle(phase.get());
        }

        private static boolean isIdle(int phase) {
            return phase == NONE || phase == KEPT;
        }

        boolean enter() {
            if (users.getAndIncrement() >= 0) {
                return true;
            }
            exit();
            return false;
        }

        void exit() {
            int left = users.decrementAndGet();
            if (left == ENDED) {
                returnSlot();
                return;
            }
            while (isEmpty() && phase.compareAndSet(KEPT, TAKEN)) {
                if (isEmpty()) {
                    giveBack();
                    return;
                }
                phase.set(KEPT); // another thread has entered since, and perhaps left
            }
        }

        /** Whether no thread is inside. One that enters while this thread has the slot does not touch it. */
        private boolean isEmpty() {
            return (users.get() & ~ENDED) == 0;
        }

        /** Nobody enters any more; the last thread inside returns the slot. */
        void end() {
            if (users.getAndUpdate(now -> now | ENDED) == 0) {
                returnSlot();
            }
        }

        private void returnSlot() {
            if (phase.compareAndSet(SUBMITTED, TAKEN)) {
                long call = untaken();
                giveBack();
                refuse(call);
            } else if (phase.compareAndSet(KEPT, TAKEN)) {
                giveBack();
            }
        }

        void refuse() {
            if (!enter()) {
                return;
            }
            try {
                if (phase.compareAndSet(SUBMITTED, TAKEN)) {
                    long call = untaken();
                    if (isDone(slot)) {
                        keep();
                    } else {
                        phase.set(SUBMITTED);
                    }
                    refuse(call);
                }
            } finally {
                exit();
            }
        }

        private void refuse(long call) {
            if (call != NO_CALL) {
                made.refuse(call);
            }
        }

        /** Waits for the end of the command; returns the number of the call that it received, or {@link #NO_CALL}. */
        private long untaken() {
            if (awaitEnd() != DataPath.Outcome.DONE) {
                return NO_CALL;
            }
            try {
                commands.data().check(slot);
            } catch (LiteException received) { // nothing, since the server is closed
                return NO_CALL;
            }
            return commands.data().receivedCall(slot);
        }

        /** The node wakes one thread, perhaps another that sleeps on the same word: looks again after {@value #LAST_NS} ns. */
        private DataPath.Outcome awaitEnd() {
            long endNs = System.nanoTime() + REFUSE_NS;
            DataPath.Outcome outcome;
            do {
                outcome = commands.data().await(slot, System.nanoTime() + LAST_NS);
            } while (outcome == DataPath.Outcome.TIMED_OUT && System.nanoTime() - endNs < 0);
            return outcome;
        }

        private void giveBack() {
            made.returnSlot(slot);
            slot = -1;
            ReceiveSlots.Place its = place;
            if (its != null) {
                place = null;
                commands.session().receives().giveBack(its);
            }
            phase.set(NONE);
        }

        /** This thread has it, and its command has ended. It keeps the slot, but no place for a turn: others wait for that. */
        private void keep() {
            ReceiveSlots.Place its = place;
            if (its != null && its != ReceiveSlots.Place.LASTING) {
                place = null;
                placeless = true;
                turnNs = System.nanoTime() + ReceiveSlots.TURN_NS;
                commands.session().receives().giveBack(its);
            }
            phase.set(KEPT);
        }

        /**
         * Submits it if it is not submitted, there are channels, and it has a place or gets one.
         *
         * @return until when the thread may wait
         */
        long submit(long deadlineNs) {
            if (left || !hasChannels()) {
                return deadlineNs;
            }
            if (isIdle(phase.get()) && System.nanoTime() - turnNs >= 0) {
                trySubmit();
            }
            if (phase.get() == SUBMITTED && place == ReceiveSlots.Place.LASTING) {
                return deadlineNs;
            }
            long nowNs = System.nanoTime(); // nobody wakes this thread when there is a place
            return nowNs + Math.min(ReceiveSlots.TURN_NS, deadlineNs - nowNs);
        }

        /** Does not wait: the calls of the channels must not wait for a slot, whose calls may wait for theirs. */
        private void trySubmit() {
            if (phase.compareAndSet(KEPT, TAKEN)) {
                if (place == null) {
                    place = tryPlace();
                }
                if (place == null) {
                    phase.set(KEPT);
                } else {
                    send();
                }
                return;
            }
            ReceiveSlots.Place taken = tryPlace();
            if (taken == null) {
                return;
            }
            boolean sent = false;
            try {
                int acquired = commands.tryAcquire(SlotPool.Use.RECEIVE);
                if (acquired < 0) {
                    placeless = true;
                } else if (phase.compareAndSet(NONE, TAKEN)) {
                    slot = acquired;
                    place = taken;
                    sent = true;
                    send();
                } else {
                    commands.data().returnSlot(acquired); // another thread was faster
                }
            } finally {
                if (!sent) {
                    commands.session().receives().giveBack(taken);
                }
            }
        }

        private ReceiveSlots.@Nullable Place tryPlace() {
            ReceiveSlots.Place taken = commands.session().receives().tryTake();
            placeless = taken == null;
            return taken;
        }

        private void send() {
            submittedNs = System.nanoTime();
            long timeoutNs = Objects.requireNonNull(place).timeoutNs(STANDING_NS);
            commands.data().submit(slot, Op.RECEIVE, id, 0, 0, 0, Op.BESIDE_CHANNELS, timeoutNs);
            phase.set(SUBMITTED);
            if (group.hasSleepers()) {
                commands.data().announceSleep(slot); // they sleep on its word already
            }
        }

        @Override
        public boolean isReady() {
            int now = phase.get();
            return (isIdle(now) && !left && !placeless)
                    || (now == SUBMITTED && isDone(slot))
                    || !commands.session().isOpen();
        }

        private boolean isDone(int its) {
            return its >= 0 && commands.data().isDone(its);
        }

        @Override
        public boolean announce(FutexWords words) {
            int now = phase.get();
            if ((left || placeless) && isIdle(now)) {
                return true;
            }
            int its = slot; // after the phase: an earlier one may have been returned
            return now == SUBMITTED && its >= 0 && commands.data().announceSleep(its, words);
        }

        /** Takes its call and submits it again; returns null if there is none. */
        @Nullable
        RpcCall take() {
            if (!phase.compareAndSet(SUBMITTED, TAKEN)) {
                return null;
            }
            boolean again = false;
            try {
                if (!commands.data().isDone(slot)) {
                    if (commands.session().isOpen()) {
                        phase.set(SUBMITTED);
                        again = true;
                        return null;
                    }
                    throw commands.session().lost();
                }
                RpcCall call = finish();
                if (left || place != ReceiveSlots.Place.LASTING) {
                    return call;
                }
                if (call == null && System.nanoTime() - submittedNs < AGAIN_NS) {
                    Polling.sleepNs(AGAIN_NS);
                }
                send();
                again = true;
                return call;
            } finally {
                if (!again) {
                    keep();
                }
            }
        }

        /** The channels are gone: waits a moment for its end, which the node brings about; returns its call, if there is one. */
        @Nullable
        RpcCall takeLast(long deadlineNs) {
            if (!phase.compareAndSet(SUBMITTED, TAKEN)) {
                Polling.sleepNs(AGAIN_NS); // another thread waits for it
                return null;
            }
            boolean kept = false;
            try {
                long endNs = Math.min(deadlineNs - System.nanoTime(), LAST_NS) + System.nanoTime();
                DataPath.Outcome outcome = commands.data().await(slot, endNs);
                if (outcome == DataPath.Outcome.LOST) {
                    throw commands.session().lost();
                }
                if (outcome == DataPath.Outcome.TIMED_OUT) { // the deadline, or there are channels again
                    phase.set(SUBMITTED);
                    kept = true;
                    return null;
                }
                return finish();
            } finally {
                if (!kept) {
                    keep();
                }
            }
        }

        private @Nullable RpcCall finish() {
            try {
                commands.data().check(slot);
                return made.fromNode(slot, commands.data().result(slot));
            } catch (LiteTimeoutException e) {
                return null;
            } catch (SessionLostException e) {
                if (left && commands.session().isOpen()) {
                    return null; // the server was closed
                }
                throw e;
            }
        }
    }
}
