package dev.lite.testing;

/** An error for which there is no memory: neither for what failed, nor to describe it. */
@SuppressWarnings("serial") // nobody writes it
public final class Undescribed extends OutOfMemoryError {
    /** It says nothing. */
    public Undescribed() {}

    @Override
    public String getMessage() {
        throw new OutOfMemoryError("no memory for a message, on purpose");
    }
}
