package dev.lite.session.channel;

/**
 * The channel has ended, because one of its ends was closed or found a wrong value in the memory, or the caller's end was retired. Use
 * another path, or a new channel.
 */
public final class ChannelEndedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean maybeDone;

    ChannelEndedException(String message, boolean maybeDone) {
        super(message);
        this.maybeDone = maybeDone;
    }

    /** Whether the server may have taken the call's request. If not, the function has not seen it, and never will. */
    public boolean isMaybeDone() {
        return maybeDone;
    }
}
