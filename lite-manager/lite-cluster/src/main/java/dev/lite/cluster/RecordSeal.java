package dev.lite.cluster;

import dev.lite.os.waiting.RepeatedLines;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import javax.crypto.KDF;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.HKDFParameterSpec;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Signs what this cluster writes to ZooKeeper, and refuses what somebody without the cluster's secret wrote. Any thread.
 *
 * <pre>
 *  0 magic (4)   4 HMAC-SHA-256 (32)   36 content
 * </pre>
 *
 * <p>The HMAC covers the path, the version of the znode, the session that owns it (0: none) and the content. So a record is
 * not valid at another path. An older record of the same znode is not valid again, unless the znode was deleted and written
 * as often as before. A registration is valid only while the session lives that made it. The version of a node's id counts
 * its registrations, and its content never changes, so there the version is not covered.
 *
 * <p>The key is derived from the secret and the cluster's name. Without a secret nothing is signed or refused; the signature
 * of others is skipped.
 */
final class RecordSeal {
    private static final Logger log = LoggerFactory.getLogger(RecordSeal.class);
    private static final String ALGORITHM = "HmacSHA256";
    /** No unsigned record begins with it: those begin with a digit, a brace, a name or a number below 2^30. */
    private static final int MAGIC = 0xA54C5301;

    private static final int HEADER_BYTES = Integer.BYTES + 32;
    private static final int LINES_MAX = 3;
    private static final Duration LINES_PERIOD = Duration.ofMinutes(1);

    private final ZooKeeperPaths paths;
    /** The key for signing first. Empty: no secret. */
    private final List<SecretKey> keys;

    private final boolean acceptsUnsigned;
    private final RepeatedLines lines = new RepeatedLines(LINES_MAX, LINES_PERIOD);
    private final AtomicLong refused = new AtomicLong();
    private final AtomicBoolean warned = new AtomicBoolean();

    RecordSeal(ZooKeeperPaths paths, CuratorConfig.@Nullable Signing signing) {
        this.paths = paths;
        keys = signing == null
                ? List.of()
                : signing.secret().lines().map(line -> key(line, paths.base)).toList();
        acceptsUnsigned = signing == null || signing.acceptUnsigned();
    }

    private static SecretKey key(String secret, String cluster) {
        try {
            return KDF.getInstance("HKDF-SHA256")
                    .deriveKey(
                            ALGORITHM,
                            HKDFParameterSpec.ofExtract()
                                    .addIKM(secret.getBytes(StandardCharsets.UTF_8))
                                    .thenExpand(
                                            ("lite records of " + cluster).getBytes(StandardCharsets.UTF_8),
                                            HEADER_BYTES - Integer.BYTES));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no HKDF-SHA256", e);
        }
    }

    /**
     * The bytes to store.
     *
     * @param version the version that the znode will have
     * @param owner the session that will own it; 0 if it outlives its session
     */
    byte[] seal(String path, int version, long owner, byte[] content) {
        if (keys.isEmpty()) {
            return content;
        }
        return ByteBuffer.allocate(HEADER_BYTES + content.length)
                .putInt(MAGIC)
                .put(mac(keys.getFirst(), path, version, owner, content))
                .put(content)
                .array();
    }

    /** The content of a znode; empty, counted and logged if it is refused. */
    Optional<byte[]> open(String path, byte[] stored, Stat stat) {
        boolean signed = isSigned(stored);
        if (signed && keys.isEmpty() && warned.compareAndSet(false, true)) {
            log.warn(
                    "{} is signed, but this process has no secret of the cluster: it checks nothing, and processes with the secret will refuse what it writes. Restart it with lite.cluster.secret-file (embedded: lite.embedded.secret-file).",
                    path);
        }
        if (keys.isEmpty() || (signed ? signer(path, stored, stat) >= 0 : acceptsUnsigned)) {
            return Optional.of(signed ? Arrays.copyOfRange(stored, HEADER_BYTES, stored.length) : stored);
        }
        refused.incrementAndGet();
        String suffix = lines.suffix("refused");
        if (suffix != null) {
            log.warn(
                    "refused {}: {}{}",
                    path,
                    signed
                            ? "its signature is of another secret, path, version or session"
                            : "it is not signed with the cluster's secret",
                    suffix);
        }
        return Optional.empty();
    }

    /** Whether this is signed with the secret for signing, or there is none. */
    boolean isCurrent(String path, byte[] stored, Stat stat) {
        return keys.isEmpty() || (isSigned(stored) && signer(path, stored, stat) == 0);
    }

    boolean signs() {
        return !keys.isEmpty();
    }

    /** Whether this process has a secret and refuses what is not signed. */
    boolean refusesUnsigned() {
        return !acceptsUnsigned;
    }

    /** How many records were refused. */
    long refused() {
        return refused.get();
    }

    private static boolean isSigned(byte[] stored) {
        return stored.length >= HEADER_BYTES && ByteBuffer.wrap(stored).getInt() == MAGIC;
    }

    /** The index of the key of the signature; -1 if there is none. */
    private int signer(String path, byte[] stored, Stat stat) {
        byte[] mac = Arrays.copyOfRange(stored, Integer.BYTES, HEADER_BYTES);
        byte[] content = Arrays.copyOfRange(stored, HEADER_BYTES, stored.length);
        for (int index = 0; index < keys.size(); index++) {
            byte[] expected = mac(keys.get(index), path, stat.getVersion(), stat.getEphemeralOwner(), content);
            if (MessageDigest.isEqual(expected, mac)) {
                return index;
            }
        }
        return -1;
    }

    private byte[] mac(SecretKey key, String path, int version, long owner, byte[] content) {
        byte[] utf8 = path.getBytes(StandardCharsets.UTF_8);
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            mac.update(ByteBuffer.allocate(Integer.BYTES + utf8.length + Integer.BYTES + Long.BYTES)
                    .putInt(utf8.length)
                    .put(utf8)
                    .putInt(paths.countsRegistrations(path) ? 0 : version)
                    .putLong(owner)
                    .flip());
            return mac.doFinal(content);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no " + ALGORITHM, e);
        }
    }
}
