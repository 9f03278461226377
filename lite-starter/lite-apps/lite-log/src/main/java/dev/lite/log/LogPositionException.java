package dev.lite.log;

/** A position outside of the log: it was cleaned, its segment is lost, or it is behind the end. */
public final class LogPositionException extends LogException {
    private static final long serialVersionUID = 1L;

    private final long firstPosition;

    LogPositionException(long firstPosition, String message) {
        super(message);
        this.firstPosition = firstPosition;
    }

    /** The oldest position that the log had then; where the log continues, if the position's segment is lost. */
    public long firstPosition() {
        return firstPosition;
    }
}
