package dev.lite.fabric.shm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.os.Errno;
import dev.lite.os.Linux;
import dev.lite.os.OsException;
import dev.lite.os.Received;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.Deadline;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The handshake of two nodes over a new socket. The connecting node sends an OFFER with its hello and the descriptors of the
 * rings, its doorbell and its memory. The other node answers WELCOME with its hello, doorbell and memory, or REFUSED with a
 * reason. A node checks everything that a peer sends before it uses it: peers are trusted, but may have another version, or may
 * not be a node at all.
 *
 * <p>A message, in native byte order (both nodes are on one host): magic (8 bytes), version (4), kind (4), bytes of memory (8),
 * entries of a ring (4), length of the text (4), the text (the hello or the reason).
 *
 * <p>Thread-safe; {@link #close} ends its use of the registered memory's descriptor.
 */
final class ShmHandshake implements AutoCloseable {
    static final long MAGIC = 0x4c495445_73686d00L; // "LITEshm"
    static final int VERSION = 1;
    static final int OFFER = 1;
    static final int WELCOME = 2;
    static final int REFUSED = 3;
    /** Not part of the handshake: see {@link PassedDescriptors}. */
    static final int PASS = 4;

    static final int HEADER_BYTES = 32;

    private static final int TEXT_BYTES_MAX = FabricConfig.HELLO_BYTES_MAX;
    private static final int MESSAGE_BYTES_MAX = HEADER_BYTES + TEXT_BYTES_MAX;

    private record Message(int kind, long memoryBytes, int ringEntries, byte[] text) {}

    private final FabricMemory memory;
    private final byte[] hello;
    private final Doorbell doorbell;
    private final PeerMemories peers;
    private final int ringEntries;
    private boolean closed;

    ShmHandshake(FabricMemory memory, byte[] hello, Doorbell doorbell, PeerMemories peers, int ringEntries) {
        this.memory = memory;
        this.hello = hello;
        this.doorbell = doorbell;
        this.peers = peers;
        this.ringEntries = ringEntries;
    }

    /** Runs the connecting side. Blocks at most for the handshake timeout; the caller keeps ownership of the socket. */
    ShmLink connect(UnixSocket socket, Deadline deadline) {
        limit(socket, deadline);
        int entries = ringEntries;
        var rings = SharedMemory.createMemfd("lite-rings", RingLayout.bytes(entries));
        try (var arena = Arena.ofConfined()) {
            offer(socket, rings);
            var buffer = arena.allocate(MESSAGE_BYTES_MAX, Long.BYTES);
            try (var passed = receive(socket, buffer, deadline)) {
                var answer = parse(buffer, passed.length());
                if (answer.kind() == REFUSED) {
                    throw new HandshakeException("refused: " + new String(answer.text(), StandardCharsets.UTF_8));
                }
                require(answer.kind() == WELCOME, "the answer is of the unknown kind " + answer.kind());
                require(passed.count() == 2, "%d descriptors instead of 2".formatted(passed.count()));
                return link(
                        peers.process(socket),
                        answer,
                        passed,
                        rings,
                        new SendRing(RingLayout.fromConnecting(rings.address()), entries),
                        receiveRing(RingLayout.fromAccepting(rings.address(), entries), entries));
            }
        } catch (RuntimeException | Error e) { // also without memory
            rings.close();
            throw e;
        }
    }

    private ReceiveRing receiveRing(long ring, int entries) {
        return new ReceiveRing(
                ring, entries, memory.segment().address(), memory.segment().byteSize());
    }

    private void offer(UnixSocket socket, SharedMemory rings) {
        try {
            send(
                    socket,
                    new Message(OFFER, memory.segment().byteSize(), ringEntries, hello),
                    rings.descriptor(),
                    doorbell.descriptor(),
                    memory.descriptor());
        } catch (OsException e) {
            // A peer at its limit refuses and closes before it reads the offer; its reason can still be received.
            if (e.errno() != Errno.EPIPE) {
                throw e;
            }
        }
    }

    /** Runs the accepting side. Blocks at most for the handshake timeout; the caller keeps ownership of the socket. */
    ShmLink accept(UnixSocket socket, Deadline deadline) {
        limit(socket, deadline);
        ShmLink link;
        try (var arena = Arena.ofConfined()) {
            var buffer = arena.allocate(MESSAGE_BYTES_MAX, Long.BYTES);
            try (var passed = receive(socket, buffer, deadline)) {
                link = accept(peers.process(socket), parse(buffer, passed.length()), passed);
            }
        } catch (RuntimeException e) {
            refuse(socket, String.valueOf(e.getMessage()));
            throw e;
        }
        try {
            send(
                    socket,
                    new Message(WELCOME, memory.segment().byteSize(), 0, hello),
                    doorbell.descriptor(),
                    memory.descriptor());
            return link;
        } catch (RuntimeException | Error e) { // also without memory
            link.release();
            throw e;
        }
    }

    private ShmLink accept(PeerProcess process, Message offer, Passed passed) {
        int entries = offer.ringEntries();
        require(offer.kind() == OFFER, "the first message is of kind %d, not an offer".formatted(offer.kind()));
        require(passed.count() == 3, "%d descriptors instead of 3".formatted(passed.count()));
        require(
                entries >= 2 && entries <= ShmOptions.RING_ENTRIES_LIMIT && Integer.bitCount(entries) == 1,
                "rings of %d entries; a power of two from 2 to %d is needed"
                        .formatted(entries, ShmOptions.RING_ENTRIES_LIMIT));
        var rings = SharedMemory.fromDescriptor(passed.take(), RingLayout.bytes(entries), true);
        try {
            return link(
                    process,
                    offer,
                    passed,
                    rings,
                    new SendRing(RingLayout.fromAccepting(rings.address(), entries), entries),
                    receiveRing(RingLayout.fromConnecting(rings.address()), entries));
        } catch (RuntimeException | Error e) { // also without memory
            rings.close();
            throw e;
        }
    }

    /** Maps the peer's doorbell and its memory, which stays mapped after the connection until its node ends. */
    private ShmLink link(
            PeerProcess process,
            Message message,
            Passed passed,
            SharedMemory rings,
            SendRing send,
            ReceiveRing receive) {
        var peerDoorbell = Doorbell.fromDescriptor(passed.take());
        try {
            PeerMemory memory = peers.map(passed.take(), message.memoryBytes());
            try {
                PeerPresence presence = peers.presence(process, peerDoorbell);
                var link = new ShmLink(message.text(), memory, rings, peerDoorbell, send, receive, presence);
                memory.offeredBy(presence); // last: it stays mapped from now on
                return link;
            } catch (RuntimeException | Error e) { // also without memory
                peers.giveUp(memory);
                throw e;
            }
        } catch (RuntimeException | Error e) { // also without memory
            peerDoorbell.close();
            throw e;
        }
    }

    /** Sends a peer the reason why it is refused; the peer may be gone already. */
    void refuse(UnixSocket socket, String reason) {
        byte[] text = reason.getBytes(StandardCharsets.UTF_8);
        try {
            send(socket, new Message(REFUSED, 0, 0, Arrays.copyOf(text, Math.min(text.length, TEXT_BYTES_MAX))));
        } catch (RuntimeException e) {
            // The peer is gone; the caller reports the reason itself.
            return;
        }
    }

    /** Limits each following call on the socket to the deadline. */
    private static void limit(UnixSocket socket, Deadline deadline) {
        long leftNs = Math.max(1, deadline.remainingNs());
        socket.setTimeout(leftNs, leftNs);
    }

    /** Sends under the lock, so that no descriptor is sent after {@link #close}, when its owner may have closed it. */
    private synchronized void send(UnixSocket socket, Message message, int... descriptors) {
        if (closed) {
            throw new HandshakeException("the fabric is closed");
        }
        try (var arena = Arena.ofConfined()) {
            var buffer = arena.allocate(HEADER_BYTES + message.text().length, Long.BYTES);
            buffer.set(JAVA_LONG, 0, MAGIC);
            buffer.set(JAVA_INT, 8, VERSION);
            buffer.set(JAVA_INT, 12, message.kind());
            buffer.set(JAVA_LONG, 16, message.memoryBytes());
            buffer.set(JAVA_INT, 24, message.ringEntries());
            buffer.set(JAVA_INT, 28, message.text().length);
            MemorySegment.copy(message.text(), 0, buffer, JAVA_BYTE, HEADER_BYTES, message.text().length);
            socket.send(buffer, buffer.byteSize(), descriptors);
        }
    }

    private static Passed receive(UnixSocket socket, MemorySegment buffer, Deadline deadline) {
        Received received;
        try {
            received = socket.receive(buffer);
        } catch (OsException e) {
            if (e.errno() == Errno.EAGAIN) {
                throw new HandshakeException("the peer was silent for %s".formatted(deadline));
            }
            throw e;
        }
        if (received.isEnd()) {
            throw new HandshakeException("the peer closed the connection before it answered");
        }
        if (received.lacksDescriptors()) {
            received.closeDescriptors();
            throw new HandshakeException("this process has no file descriptor left for those of the peer");
        }
        return new Passed(received);
    }

    private static Message parse(MemorySegment message, int length) {
        require(length >= HEADER_BYTES, "a message of %d bytes; a header has %d".formatted(length, HEADER_BYTES));
        long magic = message.get(JAVA_LONG, 0);
        require(magic == MAGIC, "the first 8 bytes are 0x%x, not those of a LITE node".formatted(magic));
        int version = message.get(JAVA_INT, 8);
        require(version == VERSION, "version %d of the handshake; this node speaks %d".formatted(version, VERSION));
        int textLength = message.get(JAVA_INT, 28);
        require(
                textLength >= 0 && textLength == length - HEADER_BYTES,
                "a text of %d bytes in a message of %d".formatted(textLength, length));
        return new Message(
                message.get(JAVA_INT, 12),
                message.get(JAVA_LONG, 16),
                message.get(JAVA_INT, 24),
                message.asSlice(HEADER_BYTES, textLength).toArray(JAVA_BYTE));
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new HandshakeException(otherwise);
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
    }

    /** The descriptors of a message. Closes those that were not taken. */
    private static final class Passed implements AutoCloseable {
        private final Received received;
        private int taken;

        Passed(Received received) {
            this.received = received;
        }

        int length() {
            return received.length();
        }

        int count() {
            return received.descriptors().length;
        }

        /** Takes the next descriptor; the caller owns it. */
        int take() {
            return received.descriptors()[taken++];
        }

        @Override
        public void close() {
            while (taken < count()) {
                Linux.closeDescriptor(take());
            }
        }
    }
}
