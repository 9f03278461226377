package dev.lite.log;

/** A committed entry whose checksum is wrong. {@link LogReader#skip} continues behind it. */
public final class LogCorruptedException extends LogException {
    private static final long serialVersionUID = 1L;

    private final long position;

    LogCorruptedException(long position, String message) {
        super(message);
        this.position = position;
    }

    /** The position of the transaction with the wrong entry. */
    public long position() {
        return position;
    }
}
