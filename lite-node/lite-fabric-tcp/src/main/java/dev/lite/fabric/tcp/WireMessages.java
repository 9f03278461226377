package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.lite.fabric.driver.HandshakeException;
import dev.lite.fabric.driver.MessageChannel;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.wire.Wire;
import java.lang.foreign.Arena;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The messages of a handshake over a wire.
 *
 * @param wire the wire; no other thread may use it during the handshake
 */
record WireMessages(Wire wire) implements MessageChannel {

    @Override
    public void send(byte[] message, Deadline deadline) {
        try (var arena = Arena.ofConfined()) {
            var bytes = arena.allocateFrom(JAVA_BYTE, message);
            long sent = 0;
            while (sent < message.length) {
                long taken = wire.send(bytes.address() + sent, message.length - sent);
                sent += taken;
                if (taken == 0 && !wire.awaitWritable(left(deadline))) {
                    throw new HandshakeException("it did not take %d bytes in time".formatted(message.length));
                }
            }
        }
    }

    @Override
    public byte[] receive(int length, Deadline deadline) {
        try (var arena = Arena.ofConfined()) {
            var received = arena.allocate(length);
            long got = 0;
            while (got < length) {
                long more = wire.receive(received.address() + got, length - got);
                if (more == Wire.END) {
                    throw new HandshakeException("it closed the connection in the handshake");
                }
                got += more;
                if (more == 0 && !wire.awaitReadable(left(deadline))) {
                    throw new HandshakeException("it sent only %d of %d bytes in time".formatted(got, length));
                }
            }
            return received.toArray(JAVA_BYTE);
        }
    }

    @Override
    public byte[] binding() {
        return wire.binding();
    }

    @Override
    public @Nullable Set<String> certifiedNames() {
        return wire.certifiedNames();
    }

    private static long left(Deadline deadline) {
        long left = deadline.remainingNs();
        if (left == 0) {
            throw new HandshakeException("the time for the handshake is over");
        }
        return left;
    }
}
