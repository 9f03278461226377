package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** Some byte of the range lies outside the LMR, or the offset of a word is not a multiple of its size. Nothing was transferred. */
public final class LmrBoundsException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LmrBoundsException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LmrBoundsException(String message, @Nullable Throwable cause) {
        super(Code.LMR_BOUNDS, message, cause);
    }

    /**
     * For implementations of {@link LmrHandle}: an operation on a word whose offset is not a multiple of its size.
     *
     * @param what the operation's name
     * @param bytes the size of the word, in bytes
     */
    public static LmrBoundsException notAligned(String what, LmrHandle handle, long offset, int bytes) {
        return new LmrBoundsException(
                "%s at offset %d of %s: the offset must be a multiple of %d".formatted(what, offset, handle, bytes));
    }
}
