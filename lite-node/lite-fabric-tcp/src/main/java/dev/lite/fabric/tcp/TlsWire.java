package dev.lite.fabric.tcp;

import dev.lite.os.RawMemory;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.wire.EncryptedWire;
import dev.lite.os.wire.PlainWire;
import dev.lite.os.wire.WireException;
import java.nio.ByteBuffer;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLKeyException;
import org.jspecify.annotations.Nullable;

/**
 * A socket with the JDK's TLS 1.3 and certificates of both sides. Host names are not checked, because nodes move between
 * hosts: {@link #certifiedNames} are compared with the name of the node.
 *
 * <p>Encrypted bytes are not reported as taken before they are sent: the sender passes the same bytes again when there
 * is room, so no encrypted byte is lost. Until {@link #readAhead}, nothing behind the record that the receiver needs leaves the socket:
 * what follows a handshake may not be TLS. One lock covers both directions, because the engine's halves share state.
 */
final class TlsWire extends EncryptedWire {
    private static final String PROTOCOL = "TLSv1.3";
    private static final int RANGE_BYTES = 16;
    private static final int BINDING_BYTES = 32;
    private static final int HEADER_BYTES = 5;
    /**
     * A handshake and its tickets have far fewer. A peer that sends more such records would keep the thread that
     * polls for all. If it asks for new keys with each, the answers and their ciphers would also wait in the engine
     * for the next send.
     */
    private static final int WITHOUT_CONTENT_MAX = 64;

    /** After so much content, a peer may send as many again: it renews its keys after gigabytes. */
    private static final long CONTENT_BYTES = 1 << 20;

    private static final String LONG_RECORD = "a record is longer than it may be";
    /** The kind of a DNS name among the names of a certificate. */
    private static final Integer DNS_NAME = 2;

    private final SSLEngine engine;
    private final boolean namesMatter;
    /** By the clock of {@link javax.net.ssl.SSLSession#getCreationTime}. */
    private final long createdMs = System.currentTimeMillis();
    // This and the following fields are guarded by this object. Buffers of encrypted bytes are kept ready for reading.
    private final ByteBuffer encryptedIn;
    private final ByteBuffer encryptedOut;
    private final ByteBuffer decrypted;
    private final long encryptedInAddress;
    private final long encryptedOutAddress;

    /** Bytes that are encrypted but not yet reported as taken. */
    private long unreported;

    /** Whether the last attempt to decrypt needs more bytes. */
    private boolean underflow;

    /** Records that had no content, and the bytes of the content of the others. */
    private int withoutContent;

    private long contentBytes;

    /** Records of any kind. Written by the receiving thread. */
    private long records;

    /** Whether it receives more than the record that it needs. */
    private boolean readsAhead;

    /** Whether the peer ended its output. */
    private volatile boolean ended;

    /** @param namesMatter whether {@link #certifiedNames} has the names */
    TlsWire(TcpSocket socket, SSLContext context, boolean connecting, boolean namesMatter) {
        super(new PlainWire(socket));
        this.namesMatter = namesMatter;
        engine = context.createSSLEngine();
        engine.setUseClientMode(connecting);
        engine.setNeedClientAuth(!connecting);
        engine.setEnabledProtocols(new String[] {PROTOCOL});
        var session = engine.getSession();
        encryptedIn = ByteBuffer.allocateDirect(session.getPacketBufferSize());
        encryptedOut = ByteBuffer.allocateDirect(session.getPacketBufferSize());
        decrypted = ByteBuffer.allocateDirect(session.getApplicationBufferSize());
        encryptedInAddress = address(encryptedIn);
        encryptedOutAddress = address(encryptedOut);
        encryptedIn.limit(0);
        encryptedOut.limit(0);
        decrypted.limit(0);
    }

    private static long address(ByteBuffer direct) {
        return java.lang.foreign.MemorySegment.ofBuffer(direct).address();
    }

    /**
     * Performs the TLS handshake. Blocks at most until the deadline.
     *
     * @param deadline the deadline of the whole handshake
     */
    void handshake(Deadline deadline) {
        try {
            engine.beginHandshake();
            while (true) {
                boolean wait = false;
                synchronized (this) {
                    // Send what the engine produced before waiting for the peer.
                    if (flush()) {
                        switch (engine.getHandshakeStatus()) {
                            case FINISHED, NOT_HANDSHAKING -> {
                                requireNewSession();
                                return;
                            }
                            case NEED_TASK -> runTasks();
                            case NEED_WRAP -> {
                                int unused = wrap(new ByteBuffer[] {ByteBuffer.allocate(0)});
                            }
                            default -> wait = unwrap() <= 0 && !hasEncrypted();
                        }
                    }
                }
                await(wait, deadline);
            }
        } catch (SSLException e) {
            throw failed(e);
        }
    }

    /**
     * A node never resumes a session. One that does passes no check of its certificate, however long ago that has expired: the ticket
     * of each resumed session is good for the next one.
     */
    private void requireNewSession() throws SSLException {
        if (engine.getSession().getCreationTime() < createdMs) {
            throw new SSLException("it resumes a former session, without a check of its certificate");
        }
    }

    private synchronized boolean hasEncrypted() {
        return encryptedIn.hasRemaining() && !underflow;
    }

    private void await(boolean forInput, Deadline deadline) throws SSLException {
        long left = deadline.remainingNs();
        if (left == 0) {
            throw new SSLException("the time for the handshake is over");
        }
        boolean output;
        synchronized (this) {
            output = encryptedOut.hasRemaining();
        }
        boolean ready = output ? plain.awaitWritable(left) : !forInput || ended || plain.awaitReadable(left);
        if (!ready) {
            throw new SSLException("the time for the handshake is over");
        }
        if (ended) {
            throw new SSLException("it closed the connection");
        }
    }

    /** Keying material of this connection (RFC 5705): proofs over it cannot be passed on to another connection. */
    @Override
    public synchronized byte[] binding() {
        try {
            return ((ExtendedSSLSession) engine.getSession())
                    .exportKeyingMaterialData("EXPORTER-lite-lane", new byte[0], BINDING_BYTES);
        } catch (SSLKeyException e) {
            throw failed(e);
        }
    }

    @Override
    public synchronized @Nullable Set<String> certifiedNames() {
        if (!namesMatter) {
            return null;
        }
        Set<String> names = new HashSet<>();
        try {
            if (engine.getSession().getPeerCertificates()[0] instanceof X509Certificate certificate) {
                Collection<List<?>> alternatives = certificate.getSubjectAlternativeNames();
                if (alternatives != null) {
                    for (List<?> alternative : alternatives) {
                        if (Objects.equals(alternative.get(0), DNS_NAME)) {
                            names.add(String.valueOf(alternative.get(1)));
                        }
                    }
                }
            }
        } catch (SSLException e) {
            throw failed(e);
        } catch (CertificateParsingException e) {
            throw new WireException("TLS: the names in its certificate cannot be read: " + e.getMessage(), e);
        }
        return names;
    }

    private void runTasks() {
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    private static WireException failed(SSLException e) {
        return new WireException("TLS: " + e.getMessage(), e);
    }

    @Override
    public long send(long address, long length) {
        return send(new ByteBuffer[] {buffer(address, length)});
    }

    @Override
    public long sendVector(long iovec, int count) {
        var buffers = new ByteBuffer[count];
        for (int i = 0; i < count; i++) {
            long range = iovec + (long) i * RANGE_BYTES;
            buffers[i] = buffer(RawMemory.getLong(range), RawMemory.getLong(range + Long.BYTES));
        }
        return send(buffers);
    }

    private static ByteBuffer buffer(long address, long length) {
        return RawMemory.all()
                .asSlice(address, Math.min(length, Integer.MAX_VALUE))
                .asByteBuffer();
    }

    private synchronized long send(ByteBuffer[] buffers) {
        try {
            long taken = 0;
            if (!flush()) {
                return 0;
            }
            if (unreported > 0) {
                taken = unreported;
                unreported = 0;
                skip(buffers, taken);
            }
            while (hasRemaining(buffers)) {
                int consumed = wrap(buffers);
                if (!flush()) {
                    unreported = consumed;
                    return taken;
                }
                taken += consumed;
            }
            return taken;
        } catch (SSLException e) {
            throw failed(e);
        }
    }

    /** Receives whatever the socket has, with fewer system calls. */
    synchronized void readAhead() {
        readsAhead = true;
    }

    private static void skip(ByteBuffer[] buffers, long bytes) {
        long left = bytes;
        for (var buffer : buffers) {
            int skipped = (int) Math.min(left, buffer.remaining());
            buffer.position(buffer.position() + skipped);
            left -= skipped;
        }
    }

    private static boolean hasRemaining(ByteBuffer[] buffers) {
        return buffers[buffers.length - 1].hasRemaining();
    }

    /** Encrypts one record, or produces an engine message; returns the number of encrypted bytes. */
    private int wrap(ByteBuffer[] buffers) throws SSLException {
        encryptedOut.clear();
        SSLEngineResult result;
        try {
            result = engine.wrap(buffers, encryptedOut);
        } finally {
            encryptedOut.flip();
        }
        if (result.getStatus() != SSLEngineResult.Status.OK) {
            throw new SSLException("cannot encrypt: " + result.getStatus());
        }
        if (result.getHandshakeStatus() == SSLEngineResult.HandshakeStatus.NEED_TASK) {
            runTasks();
        }
        return result.bytesConsumed();
    }

    /** Sends the encrypted bytes; returns whether all were sent. */
    private boolean flush() {
        while (encryptedOut.hasRemaining()) {
            long sent = plain.send(encryptedOutAddress + encryptedOut.position(), encryptedOut.remaining());
            if (sent == 0) {
                return false;
            }
            encryptedOut.position(encryptedOut.position() + (int) sent);
        }
        return true;
    }

    @Override
    public synchronized long receive(long address, long length) {
        try {
            while (!decrypted.hasRemaining()) {
                int received = unwrap();
                if (received < 0) {
                    return END;
                }
                if (received == 0) {
                    return 0;
                }
            }
        } catch (SSLException e) {
            throw failed(e);
        }
        int taken = (int) Math.min(length, decrypted.remaining());
        RawMemory.copyFrom(java.lang.foreign.MemorySegment.ofBuffer(decrypted), 0, address, taken);
        decrypted.position(decrypted.position() + taken);
        return taken;
    }

    /** Decrypts one complete record. Returns 1 if it made progress, 0 if it needs more bytes, -1 at the end. */
    private int unwrap() throws SSLException {
        if (ended) {
            return -1;
        }
        decrypted.clear();
        SSLEngineResult result;
        try {
            result = engine.unwrap(encryptedIn, decrypted);
        } finally {
            decrypted.flip();
        }
        if (result.getHandshakeStatus() == SSLEngineResult.HandshakeStatus.NEED_TASK) {
            runTasks();
        }
        return switch (result.getStatus()) {
            case OK -> {
                underflow = false;
                records++;
                requireContent(decrypted.remaining());
                yield 1;
            }
            case CLOSED -> {
                ended = true;
                yield -1;
            }
            case BUFFER_UNDERFLOW -> fill();
            case BUFFER_OVERFLOW -> throw new SSLException(LONG_RECORD);
        };
    }

    private void requireContent(int bytes) throws SSLException {
        contentBytes += bytes;
        if (contentBytes >= CONTENT_BYTES) {
            contentBytes = 0;
            withoutContent = 0;
        }
        if (bytes == 0 && ++withoutContent > WITHOUT_CONTENT_MAX) {
            throw new SSLException("it sent %d records without content, and %d bytes of content"
                    .formatted(withoutContent, contentBytes));
        }
    }

    /** The bytes that are missing for a header (type, version, length of the content) or for the record of the header. */
    private int missing() {
        int there = encryptedIn.position();
        int whole = there < HEADER_BYTES
                ? HEADER_BYTES
                : HEADER_BYTES + Short.toUnsignedInt(encryptedIn.getShort(HEADER_BYTES - Short.BYTES));
        return whole - there;
    }

    private int fill() throws SSLException {
        underflow = true;
        encryptedIn.compact();
        long got;
        try {
            if (!encryptedIn.hasRemaining()) {
                throw new SSLException(LONG_RECORD);
            }
            int want = readsAhead ? encryptedIn.remaining() : Math.clamp(missing(), 1, encryptedIn.remaining());
            got = plain.receive(encryptedInAddress + encryptedIn.position(), want);
            if (got > 0) {
                encryptedIn.position(encryptedIn.position() + (int) got);
                underflow = false;
            }
        } finally {
            encryptedIn.flip();
        }
        if (got == END) {
            ended = true;
            return -1;
        }
        return got > 0 ? 1 : 0;
    }

    @Override
    public long records() {
        return records;
    }

    @Override
    public boolean awaitReadable(long timeoutNs) {
        synchronized (this) {
            if (decrypted.hasRemaining()) {
                return true;
            }
        }
        return plain.awaitReadable(timeoutNs);
    }
}
