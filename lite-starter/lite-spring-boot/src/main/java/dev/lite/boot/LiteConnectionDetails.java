package dev.lite.boot;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * The socket of this host's node and the application's secret. The default takes both from {@code lite.client.*}; a bean of this type
 * replaces it, for example in a test that starts its own node. Read once, at start-up.
 */
public interface LiteConnectionDetails extends ConnectionDetails {

    /** The node's Unix socket. */
    Path getSocket();

    /** The sockets of other nodes of this host, in order of preference. */
    default List<Path> getAlternativeSockets() {
        return List.of();
    }

    /** The secret that identifies the application where several share a user id, or null. */
    default @Nullable String getToken() {
        return null;
    }
}
