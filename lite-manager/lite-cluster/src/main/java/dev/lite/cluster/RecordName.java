package dev.lite.cluster;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrSpec;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.CRC32;

/** The names of records: validation, and encoding as a path element. */
final class RecordName {
    /**
     * The number of parent znodes over which names are spread. A listing of 100,000 names of 512 bytes then needs at most
     * 100,000 / 256 × (3 × 512) bytes = 0.6 MB per answer; the limit is {@link ZooKeeperSession#ANSWER_BYTES_MAX}.
     */
    static final int BUCKETS = 256;

    private RecordName() {}

    /**
     * Checks a name.
     *
     * @throws IllegalArgumentException see {@link LmrSpec#checkName}; also for an unpaired surrogate, which UTF-8 cannot
     *     encode
     */
    static void check(String name) {
        boolean internal = name.startsWith(ClusterDirectory.INTERNAL_PREFIX);
        LmrSpec.checkName(internal ? name.substring(name.indexOf('/') + 1) : name);
        utf8(name);
    }

    /** Checks the size of a record. */
    static void checkRecord(String name, byte[] record) {
        check(name);
        if (record.length > ClusterDirectory.RECORD_BYTES_MAX) {
            throw new LimitExceededException("the record of \"%s\" has %d bytes; the limit is %d"
                    .formatted(name, record.length, ClusterDirectory.RECORD_BYTES_MAX));
        }
    }

    /** Checks the limit of a listing. */
    static void checkLimit(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("the limit of a listing is %d; it must be at least 1".formatted(limit));
        }
    }

    /** 0 (inclusive) to {@link #BUCKETS} (exclusive). Must never change, because it is part of the stored layout. */
    static int bucket(String name) {
        CRC32 crc = new CRC32();
        crc.update(utf8(name));
        return (int) (crc.getValue() & (BUCKETS - 1));
    }

    /** Encodes a name as one path element: without a slash, and never "." or "..", which ZooKeeper rejects. */
    static String encode(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace(".", "%2E");
    }

    /** The inverse of {@link #encode}; empty if no name is encoded like this. */
    static Optional<String> decode(String element) {
        try {
            String name = URLDecoder.decode(element, StandardCharsets.UTF_8);
            return encode(name).equals(element) ? Optional.of(name) : Optional.empty();
        } catch (IllegalArgumentException e) { // declared by URLDecoder for escapes like %zz
            return Optional.empty();
        }
    }

    private static ByteBuffer utf8(String name) {
        try {
            return StandardCharsets.UTF_8.newEncoder().encode(java.nio.CharBuffer.wrap(name));
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the name has an unpaired surrogate", e);
        }
    }
}
