package dev.lite.client;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcMessages;
import dev.lite.api.SessionLostException;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** A port that this session has open. Any thread. */
final class ClientMessages implements RpcMessages {
    /** As good as forever, and safe to add to a time. */
    private static final long FOREVER_NS = Long.MAX_VALUE / 4;

    private final RpcCommandPath commands;
    private final String port;
    private final long id;
    private final AtomicBoolean closed = new AtomicBoolean();
    /**
     * Messages that no thread has got, although the node has passed them on: those that came after a receive had timed out, and those
     * whose sender the node did not tell in time. The next receives get them.
     */
    private final ConcurrentLinkedDeque<Taken> kept = new ConcurrentLinkedDeque<>();
    /** Receives that have timed out, and that the node has not ended. */
    private final AtomicInteger late = new AtomicInteger();

    /** A message and its sender. One thread has it, or {@link #kept}. */
    private record Taken(OriginQuery sender, byte[] data) {}

    ClientMessages(RpcCommandPath commands, String port, long id) {
        this.commands = commands;
        this.port = port;
        this.id = id;
        commands.session().use().ports().put(this, port);
    }

    @Override
    public String port() {
        return port;
    }

    @Override
    public Message receive(Duration deadline) {
        if (closed.get()) {
            throw new SessionLostException("the port \"%s\" was closed".formatted(port));
        }
        String what = RpcCommandPath.what(Op.RECEIVE, port);
        long deadlineNs = System.nanoTime() + RpcCommandPath.toNanos(deadline);
        ReceiveSlots receives = commands.session().receives();
        while (true) {
            Taken next = kept.pollFirst();
            if (next != null) {
                return message(next, what, deadlineNs);
            }
            ReceiveSlots.Place place = receives.take(what, deadlineNs);
            boolean again = place == ReceiveSlots.Place.TURN || late.get() > 0;
            try {
                long leftNs = Math.max(1, deadlineNs - System.nanoTime());
                next = take(what, again ? ReceiveSlots.Place.TURN.timeoutNs(leftNs) : leftNs);
            } catch (LiteTimeoutException e) {
                if (!again || deadlineNs - System.nanoTime() <= 0) {
                    throw e;
                }
            } finally {
                receives.giveBack(place);
            }
            if (next != null) {
                return message(next, what, deadlineNs);
            }
        }
    }

    private Message message(Taken its, String what, long deadlineNs) {
        RpcOriginIs sender = null;
        try {
            sender = its.sender.await(deadlineNs);
        } finally {
            if (sender == null) {
                kept.addFirst(its);
            }
        }
        if (sender == null) {
            throw new LiteTimeoutException(
                    "%s: the node did not send the sender's name before the deadline; the next receive gets the message"
                            .formatted(what));
        }
        return new Message(sender.node(), sender.principal(), its.data);
    }

    private Taken take(String what, long timeoutNs) {
        long beganNs = System.nanoTime();
        int slot = commands.acquire(SlotPool.Use.RECEIVE, what, timeoutNs);
        try {
            long leftNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
            return taken(slot, commands.run(what, slot, Op.RECEIVE, id, 0, 0, 0, leftNs));
        } finally {
            if (commands.data().isUnderWay(slot) && commands.session().isOpen()) {
                late.incrementAndGet();
                Thread unused = Thread.ofVirtual().name("lite-client-late").start(() -> takeLate(slot));
            } else {
                commands.data().returnSlot(slot);
            }
        }
    }

    /** Waits for the end of a receive that the node should have ended before. A thread of its own, which owns the slot. */
    private void takeLate(int slot) {
        DataPath data = commands.data();
        try {
            if (data.await(slot, System.nanoTime() + FOREVER_NS) == DataPath.Outcome.DONE && !data.hasFailed(slot)) {
                kept.addLast(taken(slot, data.result(slot)));
            }
        } finally {
            data.returnSlot(slot);
            late.decrementAndGet();
        }
    }

    private Taken taken(int slot, long length) {
        byte[] data = new byte[Math.clamp(length, 0, commands.data().windowBytes())];
        RawMemory.copyTo(commands.data().window(slot), MemorySegment.ofArray(data), 0, data.length);
        return new Taken(new OriginQuery(commands, commands.data().receivedOrigin(slot)), data);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            commands.session().use().ports().remove(this);
            commands.close(id);
        }
    }
}
