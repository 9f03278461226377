package dev.lite.fabric.driver;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricIdentity;
import dev.lite.fabric.FabricKeys;
import dev.lite.os.waiting.Deadline;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The handshake of a lane: four messages of fixed lengths, so that no peer decides how much is allocated. One deadline covers all of them.
 *
 * <pre>
 *  connecting side                              accepting side
 *  opening:   version, nonce, exchange      →
 *                                           ←   challenge: version, nonce, exchange
 *  claim:     lane, connection, size, hello,
 *             key, signature, proof         →
 *                                           ←   verdict: yes or a reason, lanes, size, hello,
 *                                               key, signature, proof
 * </pre>
 *
 * <p><b>Member.</b> A proof is HMAC-SHA-256 with the cluster secret over both nonces and every message so far; each side checks the
 * other's in constant time. No log, exception or reason contains a secret or a proof. The accepting side sends nothing about itself
 * before it has checked a proof.
 *
 * <p><b>Identity.</b> Each side signs everything that was said with the key of its node ({@link FabricIdentity}), and asks its own
 * identity whether that key, hello and address belong together. So a holder of the secret cannot impersonate another node, not even with
 * recorded messages of that node. Under TLS, proofs and signatures also cover the TLS connection, so nobody can pass the
 * messages on from one TLS connection to another.
 *
 * <p><b>Keys.</b> The exchange is X25519 with a key pair for this lane alone. If one of the nodes asks for encryption, the exchange
 * yields {@link FabricKeys}, which also depend on the secret and on all messages. Later knowledge of the secret does not reveal them.
 *
 * <p><b>Streams.</b> A claim of no lanes is for a {@linkplain FabricEndpoint#openStream stream} of a connection: it has the tag of the stream
 * and a part of the connection's number. Neither side sends anything after the verdict, nor reads anything behind it. A stream does not
 * use the encryption of its channel, so it has keys if either node asks for them or the channel is encrypted.
 *
 * <p>After lane 0, the connecting side opens the other lanes with the connection's random number; {@link #sendReady} completes the
 * connection.
 */
public final class LaneHandshake {
    private static final int VERSION_MASK = 0xFF;
    private static final long READY = 0x5245414459210A0AL;
    private static final int NONCE_BYTES = 32;
    private static final int PROOF_BYTES = LaneCrypto.MAC_BYTES;
    private static final long HAS_SECRET = 1;
    /** The node asks for keys. */
    private static final long WANTS_KEYS = 2;
    /** Contains version, flags, nonce, public key of the exchange. */
    private static final int OPENING_BYTES = Long.BYTES + Long.BYTES + NONCE_BYTES + LaneCrypto.EXCHANGE_BYTES;

    private static final int REASON_BYTES = 128;
    /** Contains lane, lanes, connection, size, hello with its length, key of the node; signature and proof follow. */
    private static final int CLAIM_BYTES =
            3 * Integer.BYTES + 3 * Long.BYTES + FabricConfig.HELLO_BYTES_MAX + FabricIdentity.KEY_BYTES;
    /** Contains whether it accepts, lanes, size, hello with its length, reason with its length, key; signature and proof follow. */
    private static final int VERDICT_BYTES =
            4 * Integer.BYTES + Long.BYTES + FabricConfig.HELLO_BYTES_MAX + REASON_BYTES + FabricIdentity.KEY_BYTES;

    /** Bytes after a claim or a verdict. */
    private static final int END_BYTES = FabricIdentity.SIGNATURE_BYTES + PROOF_BYTES;

    /** The longest message, in bytes. */
    public static final int MESSAGE_BYTES_MAX = VERDICT_BYTES + END_BYTES;

    /** How long a node that just registered may be unknown to others. */
    private static final Duration IDENTITY_WAIT = Duration.ofSeconds(2);

    /** In the claim of a stream, and in its verdict. */
    private static final int NO_LANES = 0;

    private static final int SECRETS_MAX = 2;
    private static final int SECRET_BYTES_MIN = 16;
    private static final int SECRET_BYTES_MAX = 1024;
    private static final String DIFFERS = "the cluster secret differs";

    /**
     * The request of the connecting side.
     *
     * @param lane index of the lane, from 0
     * @param lanes the number of lanes it wants; 0 for a stream
     * @param high the connection's number, with {@code low}: random, made by the connecting side. The tag of a stream
     * @param bytes the size of its memory
     * @param hello its hello
     */
    public record Claim(int lane, int lanes, long high, long low, long bytes, byte[] hello) {
        /** Whether the peer opens a stream. */
        public boolean isStream() {
            return lanes == NO_LANES;
        }
    }

    /**
     * The answer of the accepting side.
     *
     * @param lanes the number of lanes that the connection gets; 0 for a stream
     * @param bytes the size of its memory
     * @param hello its hello
     * @param keys of the lane; null if neither node asks for them
     */
    public record Verdict(
            int lanes, long bytes, byte[] hello, @Nullable FabricKeys keys) {}

    /**
     * The identities of both sides.
     *
     * @param fabric the driver's name
     * @param hello {@link FabricConfig#hello}
     * @param identity {@link FabricConfig#identity}; null: nobody's identity is checked
     */
    public record Self(
            String fabric, byte[] hello, @Nullable FabricIdentity identity) {
        /** Of a configuration. */
        public static Self of(String fabric, FabricConfig config) {
            return new Self(fabric, config.hello(), config.identity());
        }
    }

    private final long version;
    private final int lanesMax;
    /** The key for connecting first; peers may know any of them. Empty: none is needed. */
    private final List<SecretKeySpec> keys;

    private final Self self;
    private final boolean wantsKeys;
    private final long memoryBytes;
    private final SecureRandom random = new SecureRandom();

    /**
     * @param version the name of the driver's protocol in the upper seven bytes, its version in the lowest
     * @param lanesMax maximum number of lanes of a connection
     * @param secret the cluster's secret, or null for none. While it changes, it has two lines: this side connects with the first one,
     *     and accepts both
     * @param self who this node is
     * @param wantsKeys whether lanes need keys; if one of two nodes asks for them, both get them
     * @param memoryBytes the size of this node's registered memory
     */
    public LaneHandshake(
            long version, int lanesMax, @Nullable String secret, Self self, boolean wantsKeys, long memoryBytes) {
        this.version = version;
        this.lanesMax = lanesMax;
        this.keys = secret == null
                ? List.of()
                : secret.lines()
                        .map(line -> new SecretKeySpec(line.getBytes(StandardCharsets.UTF_8), LaneCrypto.MAC))
                        .toList();
        this.self = self;
        this.wantsKeys = wantsKeys;
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
     * @param address the address to which it connects
     * @param deadline of the whole handshake
     * @throws HandshakeException with the reason
     */
    public Verdict connect(
            MessageChannel channel, String address, int lane, int lanes, long high, long low, Deadline deadline) {
        KeyPair exchange = LaneCrypto.newExchange();
        byte[] opening = opening(exchange);
        channel.send(opening, deadline);
        byte[] challenge = channel.receive(OPENING_BYTES, deadline);
        requireVersion(challenge);
        byte[] claimed = new byte[CLAIM_BYTES];
        var claim = over(claimed);
        claim.putInt(lane).putInt(lanes).putLong(high).putLong(low).putLong(memoryBytes);
        putBytes(claim, self.hello(), FabricConfig.HELLO_BYTES_MAX);
        claim.put(ownPublicKey());
        byte[] binding = channel.binding();
        byte[] signature =
                LaneCrypto.sign(self.identity(), LaneCrypto.signed("claim", binding, opening, challenge, claimed));
        byte[] proof = LaneCrypto.proof(ownKey(), "claim", binding, opening, challenge, claimed, signature);
        channel.send(join(claimed, signature, proof), deadline);
        byte[] answer = channel.receive(VERDICT_BYTES + END_BYTES, deadline);
        byte[] verdict = Arrays.copyOf(answer, VERDICT_BYTES);
        byte[] theirSignature = Arrays.copyOfRange(answer, VERDICT_BYTES, answer.length - PROOF_BYTES);
        var fields = over(verdict);
        boolean yes = fields.getInt() == 1;
        int agreed = fields.getInt();
        long bytes = fields.getLong();
        byte[] peerHello = getBytes(fields, FabricConfig.HELLO_BYTES_MAX);
        byte[] reason = getBytes(fields, REASON_BYTES);
        byte[] peerKey = new byte[FabricIdentity.KEY_BYTES];
        fields.get(peerKey);
        if (!yes) {
            throw new HandshakeException("it refused: " + printable(reason));
        }
        byte[] expected =
                LaneCrypto.proof(ownKey(), "verdict", binding, opening, challenge, claimed, verdict, theirSignature);
        if (!MessageDigest.isEqual(expected, Arrays.copyOfRange(answer, answer.length - PROOF_BYTES, answer.length))) {
            throw new HandshakeException(DIFFERS);
        }
        requireIdentity(
                new FabricIdentity.Peer(self.fabric(), address, peerHello, peerKey, channel.certifiedNames()),
                LaneCrypto.signed("verdict", binding, opening, challenge, claimed, verdict),
                theirSignature,
                deadline);
        if (agreed < Math.min(1, lanes) || agreed > lanes || bytes < 0) {
            throw new HandshakeException("it offers %d lanes and %d bytes of memory; this node asked for 1 to %d lanes"
                    .formatted(agreed, bytes, lanes));
        }
        FabricKeys keys = needKeys(opening, challenge, binding, lanes == NO_LANES)
                ? LaneCrypto.keys(
                        LaneCrypto.shared(exchange, exchangeOf(challenge)),
                        ownKey(),
                        LaneCrypto.digest(binding, opening, challenge, claimed, verdict),
                        true)
                : null;
        return new Verdict(agreed, bytes, peerHello, keys);
    }

    /**
     * Runs the connecting side of a stream.
     *
     * @param address the address to which it connects
     * @param tag of the stream
     * @param number {@link Claim#low} of the connection to which the stream belongs
     * @param deadline of the whole handshake
     * @throws HandshakeException with the reason
     */
    public Verdict connectStream(MessageChannel channel, String address, long tag, long number, Deadline deadline) {
        return connect(channel, address, 0, NO_LANES, tag, number, deadline);
    }

    /** Checks that a peer has the key that it shows, and is the node of that key. */
    private void requireIdentity(FabricIdentity.Peer peer, byte[] signed, byte[] signature, Deadline deadline) {
        FabricIdentity identity = self.identity();
        if (identity == null) {
            return;
        }
        if (!LaneCrypto.isSigned(peer.publicKey(), signed, signature)) {
            throw new HandshakeException("it did not sign with the key of its node");
        }
        String objection =
                identity.objectionTo(peer, deadline.atMost(IDENTITY_WAIT).remaining());
        if (objection != null) {
            throw new HandshakeException(objection);
        }
    }

    private byte[] ownPublicKey() {
        FabricIdentity identity = self.identity();
        return identity == null ? new byte[FabricIdentity.KEY_BYTES] : identity.publicKey();
    }

    /**
     * Runs the accepting side, until the peer has proved that it knows the secret. {@link Accepted#requireIdentity} comes next.
     *
     * @param deadline of this part of the handshake
     * @throws HandshakeException with the reason
     */
    public Accepted accept(MessageChannel channel, Deadline deadline) {
        byte[] opening = channel.receive(OPENING_BYTES, deadline);
        requireVersion(opening);
        KeyPair exchange = LaneCrypto.newExchange();
        byte[] challenge = opening(exchange);
        channel.send(challenge, deadline);
        byte[] message = channel.receive(CLAIM_BYTES + END_BYTES, deadline);
        byte[] claimed = Arrays.copyOf(message, CLAIM_BYTES);
        byte[] signature = Arrays.copyOfRange(message, CLAIM_BYTES, message.length - PROOF_BYTES);
        byte[] proof = Arrays.copyOfRange(message, message.length - PROOF_BYTES, message.length);
        byte[] binding = channel.binding();
        SecretKeySpec known = ownKey();
        boolean proved = keys.isEmpty() && MessageDigest.isEqual(new byte[PROOF_BYTES], proof);
        for (SecretKeySpec key : keys) { // all, so that the time does not tell which one it is
            byte[] expected = LaneCrypto.proof(key, "claim", binding, opening, challenge, claimed, signature);
            if (MessageDigest.isEqual(expected, proof)) {
                proved = true;
                known = key;
            }
        }
        var accepted = new Accepted(channel, known, exchange, opening, challenge, claimed, signature);
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
        private final KeyPair exchange;
        private final byte[] opening;
        private final byte[] challenge;
        private final byte[] claimed;
        private final byte[] signature;
        private @Nullable FabricKeys laneKeys;

        Accepted(
                MessageChannel channel,
                @Nullable SecretKeySpec key,
                KeyPair exchange,
                byte[] opening,
                byte[] challenge,
                byte[] claimed,
                byte[] signature) {
            this.channel = channel;
            this.key = key;
            this.exchange = exchange;
            this.opening = opening;
            this.challenge = challenge;
            this.claimed = claimed;
            this.signature = signature;
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
            boolean stream = lanes == NO_LANES && lane == 0;
            if (lanes < 0 || lanes > lanesMax || lane < 0 || (lane >= lanes && !stream) || bytes < 0) {
                throw new HandshakeException(
                        "it claims lane %d of %d, and %d bytes of memory; there are at most %d lanes"
                                .formatted(lane, lanes, bytes, lanesMax));
            }
            return new Claim(lane, lanes, high, low, bytes, peerHello);
        }

        /**
         * Checks that the peer is the node that it says. Otherwise the peer gets the reason.
         *
         * @param deadline of the whole handshake
         * @throws HandshakeException with the reason
         */
        public void requireIdentity(Deadline deadline) {
            byte[] publicKey = Arrays.copyOfRange(claimed, CLAIM_BYTES - FabricIdentity.KEY_BYTES, CLAIM_BYTES);
            try {
                LaneHandshake.this.requireIdentity(
                        new FabricIdentity.Peer(
                                self.fabric(), null, claim().hello(), publicKey, channel.certifiedNames()),
                        LaneCrypto.signed("claim", channel.binding(), opening, challenge, claimed),
                        signature,
                        deadline);
            } catch (HandshakeException e) {
                refuse(String.valueOf(e.getMessage()), deadline);
                throw e;
            }
        }

        /** Accepts the lane. */
        public void welcome(int lanes, Deadline deadline) {
            answer(1, lanes, memoryBytes, self.hello(), "", deadline);
        }

        /** Accepts the stream. */
        public void welcomeStream(Deadline deadline) {
            welcome(NO_LANES, deadline);
        }

        /** The keys of the lane after {@link #welcome}; null if neither node asks for them. */
        public @Nullable FabricKeys keys() {
            return laneKeys;
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
            if (yes != 1) { // a refused peer gets no proof
                channel.send(join(message, new byte[FabricIdentity.SIGNATURE_BYTES], new byte[PROOF_BYTES]), deadline);
                return;
            }
            verdict.put(ownPublicKey());
            byte[] binding = channel.binding();
            byte[] own = LaneCrypto.sign(
                    self.identity(), LaneCrypto.signed("verdict", binding, opening, challenge, claimed, message));
            byte[] proof = LaneCrypto.proof(key, "verdict", binding, opening, challenge, claimed, message, own);
            if (needKeys(opening, challenge, binding, claim().isStream())) {
                laneKeys = LaneCrypto.keys(
                        LaneCrypto.shared(exchange, exchangeOf(opening)),
                        key,
                        LaneCrypto.digest(binding, opening, challenge, claimed, message),
                        false);
            }
            channel.send(join(message, own, proof), deadline);
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

    private byte[] opening(KeyPair exchange) {
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        byte[] message = new byte[OPENING_BYTES];
        long flags = (keys.isEmpty() ? 0 : HAS_SECRET) | (wantsKeys ? WANTS_KEYS : 0);
        over(message).putLong(version).putLong(flags).put(nonce).put(LaneCrypto.raw(exchange.getPublic()));
        return message;
    }

    private static byte[] exchangeOf(byte[] opening) {
        return Arrays.copyOfRange(opening, OPENING_BYTES - LaneCrypto.EXCHANGE_BYTES, OPENING_BYTES);
    }

    private static boolean needKeys(byte[] opening, byte[] challenge, byte[] binding, boolean stream) {
        boolean leavesEncryption = stream && binding.length > 0;
        return leavesEncryption
                || ((over(opening).getLong(Long.BYTES) | over(challenge).getLong(Long.BYTES)) & WANTS_KEYS) != 0;
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
        if ((fields.getLong() & HAS_SECRET) == 0 && !keys.isEmpty()) {
            throw new HandshakeException("it has no cluster secret; this node requires one");
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

    private static byte[] join(byte[] message, byte[] signature, byte[] proof) {
        return LaneCrypto.concat(LaneCrypto.concat(message, signature), proof);
    }

    /** Text of an unknown peer, made safe for a log. */
    private static String printable(byte[] text) {
        return new String(text, StandardCharsets.US_ASCII).replaceAll("[^ -~]", "?");
    }
}
