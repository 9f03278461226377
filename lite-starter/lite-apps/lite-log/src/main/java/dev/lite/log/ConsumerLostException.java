package dev.lite.log;

/** A consumer that no longer holds its name, because its session was lost or its node was removed; another one may have it. */
public final class ConsumerLostException extends LogException {
    private static final long serialVersionUID = 1L;

    ConsumerLostException(String message) {
        super(message);
    }
}
