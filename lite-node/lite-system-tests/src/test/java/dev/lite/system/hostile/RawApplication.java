package dev.lite.system.hostile;

import dev.lite.os.Futex;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixSocket;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionChannel.WithDescriptors;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.Goodbye;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.Refused;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionMessage.Welcome;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** An application without LITE's client. */
final class RawApplication implements AutoCloseable {
    private static final long HOUR_NS = TimeUnit.HOURS.toNanos(1);

    private final SessionChannel channel;
    private @Nullable SharedMemory memory;

    RawApplication(Path socket) {
        channel = new SessionChannel(UnixSocket.connect(socket));
        channel.setTimeout(Waits.seconds(20).toNanos(), 0);
    }

    void hello(int version, String token) {
        channel.send(new Hello(version, version, "raw", token));
    }

    /** Attaches like LITE's client. */
    RawApplication attach(String token) throws ProtocolException {
        hello(SessionProtocol.VERSION, token);
        WithDescriptors answer = Objects.requireNonNull(channel.receiveWithDescriptors());
        if (!(answer.message() instanceof Welcome welcome)) {
            throw new AssertionError("not welcome: " + answer.message());
        }
        memory = SharedMemory.fromDescriptor(
                answer.carrier().descriptors()[0], welcome.area().bytes(), true);
        return this;
    }

    /** Whether the node refuses it. */
    boolean isRefused() throws ProtocolException {
        return channel.receive() instanceof Refused;
    }

    /** Opens a function or port; returns its number, or -1 if the node refuses. */
    long open(RpcKind kind, String node, String name) throws ProtocolException {
        channel.send(new RpcOpen(1, kind, node, name));
        return channel.receive() instanceof RpcOpened opened ? opened.id() : -1;
    }

    /** Submits a call of 8 bytes, and waits until the node has fetched it. */
    void call(int slot, long function) {
        long base = Objects.requireNonNull(memory).address();
        long at = base + SessionArea.slotOffset(slot);
        RawMemory.putInt(at + SessionArea.OP, Op.CALL);
        RawMemory.putLong(at + SessionArea.LH, function);
        RawMemory.putLong(at + SessionArea.LENGTH, 8);
        RawMemory.putLong(at + SessionArea.OPERAND0, 0);
        RawMemory.putLong(at + SessionArea.OPERAND1, 0);
        RawMemory.putLong(at + SessionArea.TIMEOUT_NS, HOUR_NS);
        RawMemory.putIntRelease(at + SessionArea.STATE, SessionArea.STATE_PENDING);
        RawMemory.putLongVolatile(base + SessionArea.SUBMITTED, 1L << slot);
        RawMemory.putIntVolatile(base + SessionArea.DOORBELL, SessionArea.DOORBELL_AWAKE);
        Futex.wake(base + SessionArea.DOORBELL, 1);
        Waits.until("the node fetched the call", () -> RawMemory.getLongVolatile(base + SessionArea.SUBMITTED) == 0);
    }

    /** The reason with which the node ends the session; empty if it gives none. */
    String goodbye() throws ProtocolException {
        try {
            SessionMessage message;
            while ((message = channel.receive()) != null) {
                if (message instanceof Goodbye goodbye) {
                    return goodbye.reason();
                }
            }
        } catch (OsException ended) {
            return "";
        }
        return "";
    }

    @Override
    public void close() {
        channel.close();
        if (memory != null) {
            memory.close();
        }
    }
}
