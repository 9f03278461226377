package dev.lite.client.reattach;

import dev.lite.api.Lite;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Deadline;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A value that is valid for one session only, and is created again for the next one: a bound function, a lock, a barrier. Any
 * thread; two threads may create it at the same time, and either value will do.
 */
final class PerSession<T> {
    private final SessionKeeper keeper;
    private final Function<Lite, T> creator;
    private volatile @Nullable Bound<T> bound;

    /** A value and the session for which it is valid. */
    record Bound<T>(Lite session, T value) {}

    /** The value is created at its first use. */
    PerSession(SessionKeeper keeper, Function<Lite, T> creator) {
        this.keeper = keeper;
        this.creator = creator;
    }

    /** The value of the current session if that is open and has one; null otherwise. */
    @Nullable
    T ifOpen() {
        Bound<T> current = boundIfOpen();
        return current == null ? null : current.value();
    }

    /** {@link #ifOpen} with its session. */
    @Nullable
    Bound<T> boundIfOpen() {
        Bound<T> current = bound;
        return current != null && current.session().isOpen() ? current : null;
    }

    /** The value of the current session; attaches and creates it if necessary. Throws what {@link SessionKeeper#open} throws. */
    T get(Deadline deadline) {
        return bound(deadline).value();
    }

    /** {@link #get} with its session. A creation that met the end of the session is repeated: it has begun nothing. */
    Bound<T> bound(Deadline deadline) {
        while (true) {
            Bound<T> current = boundIfOpen();
            if (current != null) {
                return current;
            }
            Lite session = keeper.open(deadline);
            try {
                current = new Bound<>(session, creator.apply(session));
                bound = current;
                return current;
            } catch (SessionLostException lost) {
                keeper.pauseBeforeRetry(lost, deadline);
            }
        }
    }
}
