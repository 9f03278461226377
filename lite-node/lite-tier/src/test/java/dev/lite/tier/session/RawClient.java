package dev.lite.tier.session;

import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixSocket;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.Goodbye;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.Welcome;
import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** An application that does not use LITE's client, so that it can violate the protocol. */
final class RawClient implements AutoCloseable {
    final UnixSocket socket;
    final SessionChannel channel;
    private @Nullable SharedMemory memory;
    private @Nullable SessionArea area;

    RawClient(Path path) {
        socket = UnixSocket.connect(path);
        channel = new SessionChannel(socket);
        channel.setTimeout(Waits.scaled(Duration.ofSeconds(10)).toNanos(), 0);
    }

    /** Attaches like LITE's client; fails unless the answer is a welcome. */
    RawClient attach() throws ProtocolException {
        return attach(Hello.of("raw", null));
    }

    /** {@link #attach()} with another hello. */
    RawClient attach(Hello hello) throws ProtocolException {
        channel.send(hello);
        SessionChannel.WithDescriptors answer = channel.receiveWithDescriptors();
        if (answer == null || !(answer.message() instanceof Welcome welcome)) {
            throw new AssertionError("not welcome: " + answer);
        }
        area = welcome.area();
        memory = SharedMemory.fromDescriptor(
                answer.carrier().descriptors()[0], welcome.area().bytes(), true);
        return this;
    }

    SessionArea area() {
        return Objects.requireNonNull(area);
    }

    long base() {
        return Objects.requireNonNull(memory).address();
    }

    MemorySegment memory() {
        return Objects.requireNonNull(memory).segment();
    }

    /** Fills a slot's command with these values. */
    void command(int slot, int op, long lh, long offset, long length) {
        long at = base() + SessionArea.slotOffset(slot);
        RawMemory.putInt(at + SessionArea.OP, op);
        RawMemory.putLong(at + SessionArea.LH, lh);
        RawMemory.putLong(at + SessionArea.OFFSET, offset);
        RawMemory.putLong(at + SessionArea.LENGTH, length);
        RawMemory.putIntRelease(at + SessionArea.STATE, SessionArea.STATE_PENDING);
    }

    /** Submits the slots with these bits, and rings the doorbell. */
    void submit(long bits) {
        RawMemory.putLongVolatile(base() + SessionArea.SUBMITTED, bits);
        ring();
    }

    void ring() {
        RawMemory.putIntVolatile(base() + SessionArea.DOORBELL, SessionArea.DOORBELL_AWAKE);
        Futex.wake(base() + SessionArea.DOORBELL, 1);
    }

    /** Sends arbitrary bytes. */
    void sendRaw(byte[] bytes, int... descriptors) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment message = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            socket.send(message, bytes.length, descriptors);
        }
    }

    /** The reason with which the node ends the session; skips earlier messages. */
    String awaitGoodbye() throws ProtocolException {
        SessionMessage message;
        while ((message = channel.receive()) != null) {
            if (message instanceof Goodbye goodbye) {
                return goodbye.reason();
            }
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
