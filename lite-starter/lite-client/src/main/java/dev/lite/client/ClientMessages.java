package dev.lite.client;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcMessages;
import dev.lite.api.SessionLostException;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/** A port that this session has open. Any thread. */
final class ClientMessages implements RpcMessages {
    private final RpcCommandPath commands;
    private final String port;
    private final long id;
    private final AtomicBoolean closed = new AtomicBoolean();

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
            ReceiveSlots.Place place = receives.take(what, deadlineNs);
            try {
                return receive(what, place.timeoutNs(Math.max(1, deadlineNs - System.nanoTime())));
            } catch (LiteTimeoutException e) {
                if (place == ReceiveSlots.Place.LASTING || deadlineNs - System.nanoTime() <= 0) {
                    throw e;
                }
            } finally {
                receives.giveBack(place);
            }
        }
    }

    private Message receive(String what, long timeoutNs) {
        int slot = commands.acquire(what, timeoutNs);
        try {
            long length = commands.run(what, slot, Op.RECEIVE, id, 0, 0, 0, timeoutNs);
            byte[] data = new byte[Math.clamp(length, 0, commands.data().windowBytes())];
            RawMemory.copyTo(commands.data().window(slot), MemorySegment.ofArray(data), 0, data.length);
            RpcOriginIs origin = commands.origin(commands.data().receivedOrigin(slot));
            return new Message(origin.node(), origin.principal(), data);
        } finally {
            commands.data().returnSlot(slot);
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            commands.session().use().ports().remove(this);
            commands.close(id);
        }
    }
}
