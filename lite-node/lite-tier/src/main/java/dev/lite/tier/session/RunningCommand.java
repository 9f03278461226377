package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcStatus;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.protocol.FurtherCalls;
import dev.lite.tier.rpc.PostedCall;
import dev.lite.tier.rpc.PostedReceive;
import dev.lite.tier.rpc.ReceivedCall;
import dev.lite.tier.session.RpcCommands.Command;
import dev.lite.tier.session.RpcCommands.Slots;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A command of an attached application that has started and not ended. Any thread. One thread ends it, by {@link #done} or {@link
 * #failed}; {@link RpcCommands} says which.
 */
final class RunningCommand {
    final Command command;
    final Slots slots;
    final long deadlineNs;
    private volatile @Nullable PostedCall call;
    private volatile @Nullable PostedReceive receive;

    private final RpcCommands owner;

    RunningCommand(RpcCommands owner, Command command, Slots slots) {
        this.owner = owner;
        this.command = command;
        this.slots = slots;
        deadlineNs = System.nanoTime() + command.timeoutNs();
    }

    MemorySegment window() {
        return RawMemory.all().asSlice(slots.window(command.slot()), slots.windowBytes());
    }

    /** Posts a call; false: it would have to wait. */
    boolean call(PostedCall.Client client, MemorySegment request) {
        int capacity = Math.clamp(command.operand0(), 0, slots.windowBytes());
        PostedCall its = new Call(capacity);
        call = its;
        boolean posted;
        try {
            posted = client.tryCall(request, capacity, command.timeoutNs(), its);
        } catch (RuntimeException | Error e) {
            if (its.hasBegun() && !its.abandon()) {
                return true; // another thread has ended it, or is about to
            }
            call = null; // this thread ends the command
            throw e;
        }
        if (posted) {
            waitForEnd();
        } else {
            call = null;
        }
        return posted;
    }

    boolean receive(PostedReceive.Server server) {
        PostedReceive its = new Receive();
        receive = its;
        try {
            server.receive(its);
        } finally {
            if (!its.hasBegun()) { // no memory for it: this thread ends the command
                receive = null;
            }
        }
        waitForEnd();
        return true;
    }

    /** Another thread will end it, or this one if its timeout has passed: many would keep the watch busy. */
    private void waitForEnd() {
        if (deadlineNs - System.nanoTime() <= 0 && giveUp()) {
            failed(late());
        } else {
            slots.waitsUntil(deadlineNs);
        }
    }

    /** Ends a receive of an application that does not know whether the function has channels. */
    void endIfChannelsChanged() {
        PostedReceive its = receive;
        if (its != null && command.isBesideChannels() != owner.hasChannels(command.id()) && its.giveUp()) {
            failed(late());
        }
    }

    /** Whether it waits, or has waited, without a thread. */
    boolean waits() {
        return call != null || receive != null;
    }

    /** Whether it waits, or has waited, without a thread for a call of a function. */
    boolean isReceiveOf(long server) {
        return receive != null && command.id() == server;
    }

    /** Ends the wait; then this thread ends the command. False: another thread does. */
    boolean giveUp() {
        PostedCall itsCall = call;
        PostedReceive itsReceive = receive;
        return (itsCall != null && itsCall.abandon()) || (itsReceive != null && itsReceive.giveUp());
    }

    RuntimeException late() {
        PostedCall its = call;
        try {
            return its != null
                    ? its.late(command.deadline())
                    : new LiteTimeoutException(
                            "no call of the function came within %s".formatted(Durations.text(command.deadline())));
        } catch (RuntimeException | Error e) { // the command has been given up: nobody else ends it
            return Unrecoverable.undescribed(e);
        }
    }

    /** Completes the slot; the command has ended. */
    boolean done(long result) {
        owner.ends(this); // before the application may submit the slot again
        slots.complete(command.slot(), 0, result);
        owner.ended(this);
        return true;
    }

    /** {@link #failed(RuntimeException)} with an error of the node, which the caller has reported. */
    void broken(Error why) {
        RuntimeException failure;
        try {
            failure = new IllegalStateException(why);
        } catch (RuntimeException | Error e) {
            failure = Unrecoverable.undescribed(e);
        }
        failed(failure);
    }

    /** Completes the slot with an error; the command has ended. Without memory for the error, the application gets one without a message. */
    void failed(RuntimeException why) {
        owner.ends(this);
        try {
            slots.fail(command.slot(), owner.error(command, why));
        } catch (OutOfMemoryError e) { // the slot is not complete: that needs no memory
            Unrecoverable.report(e);
            slots.complete(command.slot(), LiteException.Code.RPC_FAILED.number(), 0);
        }
        owner.ended(this);
    }

    private final class Call extends PostedCall {
        private final int capacity;

        Call(int capacity) {
            this.capacity = capacity;
        }

        @Override
        protected boolean isSoon() {
            return command.soon();
        }

        @Override
        protected MemorySegment destination(int length) {
            return window().asSlice(0, capacity);
        }

        @Override
        protected void replied(int length) {
            boolean unused = done(length);
        }

        @Override
        protected void failed(RuntimeException why) {
            RunningCommand.this.failed(why);
        }

        @Override
        protected void later(Runnable task) {
            owner.later(task);
        }
    }

    private final class Receive extends PostedReceive {
        @Override
        protected boolean received(ReceivedCall its) {
            if (its.message().length > slots.windowBytes()) {
                owner.received().failSoon(its, RpcStatus.REFUSED, RpcCommands.tooLong(its, slots));
                return false;
            }
            long length;
            try {
                length = owner.received().put(its, slots, command.slot());
                putFurther(length);
            } catch (RuntimeException refused) {
                RunningCommand.this.failed(refused);
                return true;
            }
            return done(length);
        }

        /** Takes the calls that are queued already, so that the application need not ask for each of them. */
        private void putFurther(long firstBytes) {
            int further = 0;
            long offset = FurtherCalls.after(firstBytes);
            ReceivedCall next = null;
            try {
                while (further < command.furtherMax()) {
                    long room = FurtherCalls.room(offset, slots.windowBytes());
                    next = room < 0 ? null : further(room);
                    int length = next == null ? 0 : next.message().length;
                    if (next == null || !owner.received().putFurther(next, slots.window(command.slot()) + offset)) {
                        break;
                    }
                    next = null;
                    offset = FurtherCalls.after(offset, length);
                    further++;
                }
            } catch (RuntimeException | Error e) { // for example, no memory for the next one
                Unrecoverable.report(e);
                failFurther(next);
            }
            slots.received(command.slot(), further); // those before it
        }

        /** @param next null: it has failed already */
        private void failFurther(@Nullable ReceivedCall next) {
            if (next != null) {
                owner.received().failSoon(next, RpcStatus.NOT_SERVED, "the server's node could not hand the call over");
            }
        }

        @Override
        protected void waits() {
            endIfChannelsChanged(); // either this thread sees the change, or the change sees the receive
        }

        @Override
        protected void failed(RuntimeException why) {
            RunningCommand.this.failed(why);
        }

        @Override
        protected void later(Runnable task) {
            owner.later(task);
        }
    }
}
