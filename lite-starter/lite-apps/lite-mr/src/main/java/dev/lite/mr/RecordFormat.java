package dev.lite.mr;

/**
 * How inputs are cut into records.
 *
 * @param headerBytes so many bytes at the start of each input are skipped
 * @param recordBytes the length of each record in bytes, or 0 for lines
 */
public record RecordFormat(long headerBytes, int recordBytes) {
    /** The longest record, in bytes. */
    public static final int RECORD_BYTES_MAX = 16 << 20;

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if one is negative or too large
     */
    public RecordFormat {
        if (headerBytes < 0 || recordBytes < 0 || recordBytes > RECORD_BYTES_MAX) {
            throw new IllegalArgumentException("records of %d bytes after a header of %d; a record has 1 to %d"
                    .formatted(recordBytes, headerBytes, RECORD_BYTES_MAX));
        }
    }

    /** Lines, which end with a line feed; the last one may lack it. A record has none. */
    public static RecordFormat lines() {
        return new RecordFormat(0, 0);
    }

    /** Records of one length after a header. */
    public static RecordFormat fixed(long headerBytes, int recordBytes) {
        if (recordBytes < 1) {
            throw new IllegalArgumentException("records of %d bytes; they need at least 1".formatted(recordBytes));
        }
        return new RecordFormat(headerBytes, recordBytes);
    }
}
