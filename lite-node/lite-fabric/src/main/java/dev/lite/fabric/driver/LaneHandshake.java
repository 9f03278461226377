package dev.lite.fabric.driver;

import dev.lite.fabric.FabricConfig;
import dev.lite.os.waiting.Deadline;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The handshake of a lane: four messages of fixed lengths, so that no peer decides how much is allocated. One deadline covers all of them.
 *
 * <pre>
 *  connecting side                          accepting side
 *  opening:   version, nonce            →
 *                                       ←   challenge: version, nonce
 *  claim:     lane, connection, size,
 *             hello, proof              →
 *                                       ←   verdict: yes or a reason, lanes, size, hello, proof
 * </pre>
 *
 * <p>A proof is HMAC-SHA-256 with the cluster secret over both nonces and every message so far; each side checks the other's in
 * constant time. No log, exception or reason contains a secret or a proof. The accepting side sends nothing about itself before it
 * has checked a proof. After lane 0, the connecting side opens the other lanes with the connection's random number;
 * {@link #sendReady} completes the connection.
 */
public final class LaneHandshake {
    private static final int VERSION_MASK = 0xFF;
    private static final long READY = 0x5245414459210A0AL;
    private static final int NONCE_BYTES = 32;
    private static final int PROOF_BYTES = 32;
    /** Contains version, whether the node has a secret, nonce. */
    private static final int OPENING_BYTES = Long.BYTES + Long.BYTES + NONCE_BYTES;

    private static final int REASON_BYTES = 128;
    /** Contains lane, lanes, connection, size, hello with its length; the proof follows. */
    private static final int CLAIM_BYTES = 3 * Integer.BYTES + 3 * Long.BYTES + FabricConfig.HELLO_BYTES_MAX;
    /** Contains whether it accepts, lanes, size, hello with its length, reason with its length; the proof follows. */
    private static final int VERDICT_BYTES =
            4 * Integer.BYTES + Long.BYTES + FabricConfig.HELLO_BYTES_MAX + REASON_BYTES;

    /** The longest message, in bytes. */
    public static final int MESSAGE_BYTES_MAX = VERDICT_BYTES + PROOF_BYTES;

    private static final int SECRETS_MAX = 2;
    private static final int SECRET_BYTES_MIN = 16;
    private static final int SECRET_BYTES_MAX = 1024;
    private static final String DIFFERS = "the cluster secret differs";
    private static final String MAC = "HmacSHA256";

    /**
     * The request of the connecting side.
     *
     * @param lane index of the lane, from 0
     * @param lanes the number of lanes it wants
     * @param high the connection's number, with {@code low}: random, made by the connecting side
     * @param bytes the size of its memory
     * @param hello its hello
     */
    public record Claim(int lane, int lanes, long high, long low, long bytes, byte[] hello) {}

    /**
     * The answer of the accepting side.
     *
     * @param lanes the number of lanes that the connection gets
     * @param bytes the size of its memory
     * @param hello its hello
     */
    public record Verdict(int lanes, long bytes, byte[] hello) {}

    private final long version;
    private final int lanesMax;
    /** The key for connecting first; peers may know any of them. Empty: none is needed. */
    private final List<SecretKeySpec> keys;

    private final byte[] hello;
    private final long memoryBytes;
    private final SecureRandom random = new SecureRandom();

    /**
     * @param version the name of the driver's protocol in the upper seven bytes, its version in the lowest
     * @param lanesMax maximum number of lanes of a connection
     * @param secret the cluster's secret, or null for none. While it changes, it has two lines: this side connects with the first one,
     *     and accepts both
     * @param hello {@link FabricConfig#hello}
     * @param memoryBytes the size of this node's registered memory
     */
    public LaneHandshake(long version, int lanesMax, @Nullable String secret, byte[] hello, long memoryBytes) {
        this.version = version;
        this.lanesMax = lanesMax;
        this.keys = secret == null
                ? List.of()
                : secret.lines()
                        .map(line -> new SecretKeySpec(line.getBytes(StandardCharsets.UTF_8), MAC))
                        .toList();
        this.hello = hello;
        this.memoryBytes = memoryBytes;
    }

    /**
     * Checks a secret: one line, or two while it changes.
     *
     * @param option the option's name, for messages
     * @throws IllegalArgumentException if a line is too short or too long, or there are more
     */
    public static void requireSecret(String option, String secret) {
        List<String> lines = secret.lines().toList();
        if (lines.size() > SECRETS_MAX) {
            throw new IllegalArgumentException(
                    "%s has %d lines; it may have two: the secret, and another one that is accepted"
                            .formatted(option, lines.size()));
        }
        for (String line : lines.isEmpty() ? List.of("") : lines) {
            int bytes = line.getBytes(StandardCharsets.UTF_8).length;
            if (bytes < SECRET_BYTES_MIN || bytes > SECRET_BYTES_MAX) {
                throw new IllegalArgumentException("%s must have %d to %d bytes; this one has %d"
                        .formatted(option, SECRET_BYTES_MIN, SECRET_BYTES_MAX, bytes));
            }
        }
    }

    /** A random number that cannot be guessed. */
    public long randomNumber() {
        return random.nextLong();
    }

    /**
     * Runs the connecting side.
     *
     * @param deadline of the whole handshake
     * @throws HandshakeException with the reason
     */
    public Verdict connect(MessageChannel channel, int lane, int lanes, long high, long low, Deadline deadline) {
        byte[] opening = opening();
        channel.send(opening, deadline);
        byte[] challenge = channel.receive(OPENING_BYTES, deadline);
        requireVersion(challenge);
        byte[] claimed = new byte[CLAIM_BYTES];
        var claim = over(claimed);
        claim.putInt(lane).putInt(lanes).putLong(high).putLong(low).putLong(memoryBytes);
        putBytes(claim, hello, FabricConfig.HELLO_BYTES_MAX);
        channel.send(join(claimed, proof(ownKey(), "claim", opening, challenge, claimed)), deadline);
        byte[] answer = channel.receive(VERDICT_BYTES + PROOF_BYTES, deadline);
        byte[] verdict = Arrays.copyOf(answer, VERDICT_BYTES);
        var fields = over(verdict);
        boolean yes = fields.getInt() == 1;
        int agreed = fields.getInt();
        long bytes = fields.getLong();
        byte[] peerHello = getBytes(fields, FabricConfig.HELLO_BYTES_MAX);
        byte[] reason = getBytes(fields, REASON_BYTES);
        if (!yes) {
            throw new HandshakeException("it refused: " + printable(reason));
        }
        byte[] expected = proof(ownKey(), "verdict", opening, challenge, claimed, verdict);
        byte[] proof = Arrays.copyOfRange(answer, VERDICT_BYTES, answer.length);
        if (!MessageDigest.isEqual(expected, proof)) {
            throw new HandshakeException(DIFFERS);
        }
        if (agreed < 1 || agreed > lanes || bytes < 0) {
            throw new HandshakeException("it offers %d lanes and %d bytes of memory; this node asked for 1 to %d lanes"
                    .formatted(agreed, bytes, lanes));
        }
        return new Verdict(agreed, bytes, peerHello);
    }

    /**
     * Runs the accepting side, until the peer has proved that it knows the secret.
     *
     * @param deadline of the whole handshake
     * @throws HandshakeException with the reason
     */
    public Accepted accept(MessageChannel channel, Deadline deadline) {
        byte[] opening = channel.receive(OPENING_BYTES, deadline);
        requireVersion(opening);
        byte[] challenge = opening();
        channel.send(challenge, deadline);
        byte[] message = channel.receive(CLAIM_BYTES + PROOF_BYTES, deadline);
        byte[] claimed = Arrays.copyOf(message, CLAIM_BYTES);
        byte[] proof = Arrays.copyOfRange(message, CLAIM_BYTES, message.length);
        SecretKeySpec known = ownKey();
        boolean proved = keys.isEmpty() && MessageDigest.isEqual(new byte[PROOF_BYTES], proof);
        for (SecretKeySpec key : keys) { // all, so that the time does not tell which one it is
            if (MessageDigest.isEqual(proof(key, "claim", opening, challenge, claimed), proof)) {
                proved = true;
                known = key;
            }
        }
        var accepted = new Accepted(channel, known, opening, challenge, claimed);
        if (!proved) {
            accepted.refuse(DIFFERS, deadline);
            throw new HandshakeException(DIFFERS);
        }
        return accepted;
    }

    private @Nullable SecretKeySpec ownKey() {
        return keys.isEmpty() ? null : keys.getFirst();
    }

    /** An accepted lane whose peer proved that it knows the secret and waits for the verdict. */
    public final class Accepted {
        private final MessageChannel channel;
        private final @Nullable SecretKeySpec key;
        private final byte[] opening;
        private final byte[] challenge;
        private final byte[] claimed;

        Accepted(
                MessageChannel channel, @Nullable SecretKeySpec key, byte[] opening, byte[] challenge, byte[] claimed) {
            this.channel = channel;
            this.key = key;
            this.opening = opening;
            this.challenge = challenge;
            this.claimed = claimed;
        }

        /** The peer's request, which was checked. */
        public Claim claim() {
            var fields = over(claimed);
            int lane = fields.getInt();
            int lanes = fields.getInt();
            long high = fields.getLong();
            long low = fields.getLong();
            long bytes = fields.getLong();
            byte[] peerHello = getBytes(fields, FabricConfig.HELLO_BYTES_MAX);
            if (lanes < 1 || lanes > lanesMax || lane < 0 || lane >= lanes || bytes < 0) {
                throw new HandshakeException(
                        "it claims lane %d of %d, and %d bytes of memory; there are at most %d lanes"
                                .formatted(lane, lanes, bytes, lanesMax));
            }
            return new Claim(lane, lanes, high, low, bytes, peerHello);
        }

        /** Accepts the lane. */
        public void welcome(int lanes, Deadline deadline) {
            answer(1, lanes, memoryBytes, hello, "", deadline);
        }

        /** Refuses the lane; the peer gets the reason. */
        public void refuse(String reason, Deadline deadline) {
            answer(0, 0, 0, new byte[0], reason, deadline);
        }

        private void answer(int yes, int lanes, long bytes, byte[] ownHello, String reason, Deadline deadline) {
            byte[] message = new byte[VERDICT_BYTES];
            var verdict = over(message);
            verdict.putInt(yes).putInt(lanes).putLong(bytes);
            putBytes(verdict, ownHello, FabricConfig.HELLO_BYTES_MAX);
            byte[] text = reason.getBytes(StandardCharsets.US_ASCII);
            putBytes(verdict, Arrays.copyOf(text, Math.min(text.length, REASON_BYTES)), REASON_BYTES);
            // A refused peer gets no proof.
            byte[] proof =
                    yes == 1 ? proof(key, "verdict", opening, challenge, claimed, message) : new byte[PROOF_BYTES];
            channel.send(join(message, proof), deadline);
        }
    }

    /** Called by the accepting side, on lane 0: confirms that all lanes are open. */
    public static void sendReady(MessageChannel channel, Deadline deadline) {
        byte[] message = new byte[Long.BYTES];
        over(message).putLong(READY);
        channel.send(message, deadline);
    }

    /** Called by the connecting side, on lane 0: waits until all lanes are open. */
    public static void awaitReady(MessageChannel channel, Deadline deadline) {
        byte[] message = channel.receive(Long.BYTES, deadline);
        if (over(message).getLong() != READY) {
            throw new HandshakeException("it did not confirm that all lanes are open");
        }
    }

    private byte[] opening() {
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        byte[] message = new byte[OPENING_BYTES];
        over(message).putLong(version).putLong(keys.isEmpty() ? 0 : 1).put(nonce);
        return message;
    }

    private void requireVersion(byte[] opening) {
        var fields = over(opening);
        long theirs = fields.getLong();
        if ((theirs ^ version) >>> Byte.SIZE != 0) {
            throw new HandshakeException("it does not speak this protocol: it begins with 0x%016x".formatted(theirs));
        }
        if (theirs != version) {
            throw new HandshakeException("it speaks version %d of the protocol; this node speaks %d"
                    .formatted(theirs & VERSION_MASK, version & VERSION_MASK));
        }
        if (fields.getLong() == 0 && !keys.isEmpty()) {
            throw new HandshakeException("it has no cluster secret; this node requires one");
        }
    }

    /** The HMAC of these messages with the secret; zeros without a secret. */
    private static byte[] proof(@Nullable SecretKeySpec key, String direction, byte[]... messages) {
        if (key == null) {
            return new byte[PROOF_BYTES];
        }
        try {
            var mac = Mac.getInstance(MAC);
            mac.init(key);
            mac.update(direction.getBytes(StandardCharsets.US_ASCII));
            for (byte[] message : messages) {
                mac.update(message);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no " + MAC, e);
        }
    }

    private static ByteBuffer over(byte[] message) {
        return ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static void putBytes(ByteBuffer message, byte[] bytes, int bytesMax) {
        message.putInt(bytes.length).put(bytes).put(new byte[bytesMax - bytes.length]);
    }

    private static byte[] getBytes(ByteBuffer message, int bytesMax) {
        int length = message.getInt();
        if (length < 0 || length > bytesMax) {
            throw new HandshakeException("it sent a text of %d bytes; the limit is %d".formatted(length, bytesMax));
        }
        byte[] bytes = new byte[length];
        message.get(bytes);
        message.position(message.position() + bytesMax - length);
        return bytes;
    }

    private static byte[] join(byte[] first, byte[] second) {
        byte[] joined = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, joined, first.length, second.length);
        return joined;
    }

    /** Text of an unknown peer, made safe for a log. */
    private static String printable(byte[] text) {
        return new String(text, StandardCharsets.US_ASCII).replaceAll("[^ -~]", "?");
    }
}
