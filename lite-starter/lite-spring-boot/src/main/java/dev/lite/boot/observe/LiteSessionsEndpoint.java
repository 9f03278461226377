package dev.lite.boot.observe;

import dev.lite.api.Lite;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/**
 * {@code /actuator/lite} of an application with several sessions: what {@link LiteEndpoint} shows, of each.
 * Any thread.
 */
@Endpoint(id = "lite")
public final class LiteSessionsEndpoint {

    private final Map<String, LiteEndpoint> sessions = new TreeMap<>();

    /**
     * Shows these sessions, which the caller still owns and closes.
     *
     * @param sessions by the names of their beans
     */
    public LiteSessionsEndpoint(Map<String, Lite> sessions) {
        sessions.forEach((name, lite) -> this.sessions.put(name, new LiteEndpoint(lite)));
    }

    /** The sessions now, by the names of their beans. */
    @ReadOperation
    public Map<String, LiteEndpoint.Session> sessions() {
        Map<String, LiteEndpoint.Session> now = new TreeMap<>();
        sessions.forEach((name, endpoint) -> now.put(name, endpoint.session()));
        return now;
    }
}
