package dev.lite.cluster;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrSpec;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/** The names of records: what is allowed, and how they are written into a path. */
final class RecordName {
    /**
     * Names are dealt to this many parents. A listing of 100,000 names of 512 bytes then needs at most 100,000 / 256 × (3
     * × 512) bytes = 0.6 MB an answer, which ZooKeeper's limit of 1 MiB allows.
     */
    static final int BUCKETS = 256;

    private RecordName() {}

    /**
     * Checks a name.
     *
     * @throws IllegalArgumentException see {@link LmrSpec#checkName}; also for half a surrogate pair, which has no UTF-8
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

    /** 0 up to {@link #BUCKETS}; the same for ever, since it is a part of the stored layout. */
    static int bucket(String name) {
        CRC32 crc = new CRC32();
        crc.update(utf8(name));
        return (int) (crc.getValue() & (BUCKETS - 1));
    }

    /** As one element of a path: no slash, and never "." or "..", which ZooKeeper refuses. */
    static String encode(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace(".", "%2E");
    }

    /** The name that {@link #encode} was given. */
    static String decode(String element) {
        return URLDecoder.decode(element, StandardCharsets.UTF_8);
    }

    private static ByteBuffer utf8(String name) {
        try {
            return StandardCharsets.UTF_8.newEncoder().encode(java.nio.CharBuffer.wrap(name));
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the name has half a surrogate pair, which is not a character", e);
        }
    }
}
