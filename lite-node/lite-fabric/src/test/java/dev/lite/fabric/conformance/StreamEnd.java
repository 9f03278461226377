package dev.lite.fabric.conformance;

import dev.lite.fabric.FabricStream;
import dev.lite.os.RawMemory;
import dev.lite.os.TcpSocket;
import dev.lite.os.wire.PlainWire;
import dev.lite.os.wire.SealedWire;
import dev.lite.os.wire.Wire;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** One end of a stream, as its user has it. One thread. */
public final class StreamEnd implements AutoCloseable {
    private final TcpSocket socket;
    private final Wire wire;

    /**
     * Takes the descriptor over.
     *
     * @throws AssertionError if there is no stream
     */
    public StreamEnd(@Nullable FabricStream stream) {
        if (stream == null) {
            throw new AssertionError("no stream was made");
        }
        socket = TcpSocket.adopt(stream.descriptor(), "stream");
        var keys = stream.keys();
        var plain = new PlainWire(socket);
        wire = keys == null ? plain : new SealedWire(plain, keys.send(), keys.receive());
    }

    /** Sends a few bytes. */
    public void send(byte[] bytes) {
        try (var arena = Arena.ofConfined()) {
            var local = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            if (wire.send(local.address(), bytes.length) != bytes.length) {
                throw new AssertionError("the socket took less than %d bytes".formatted(bytes.length));
            }
        }
    }

    /** Waits for a few bytes. */
    public byte[] receive(int length) {
        byte[] bytes = new byte[length];
        try (var arena = Arena.ofConfined()) {
            var local = arena.allocate(length);
            long got = 0;
            while (got < length) {
                long more = wire.receive(local.address() + got, length - got);
                if (more < 0 || (more == 0 && !wire.awaitReadable(timeoutNs()))) {
                    throw new AssertionError("only %d of %d bytes came".formatted(got, length));
                }
                got += more;
            }
            RawMemory.copyTo(local.address(), MemorySegment.ofArray(bytes), 0, length);
        }
        return bytes;
    }

    /** Whether the other end was closed within the time. */
    public boolean isEnded(long timeoutNs) {
        return socket.awaitPeerEnd(timeoutNs);
    }

    private static long timeoutNs() {
        return Deadline.scaledNs(Duration.ofSeconds(20));
    }

    @Override
    public void close() {
        socket.close();
    }
}
