package dev.lite.boot;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * Where this host's node listens and by which secret it knows the application. The default takes both from
 * {@code lite.client.*}; a bean of this type, for instance one that a test makes for the node it started, replaces it. Asked once,
 * at start.
 */
public interface LiteConnectionDetails extends ConnectionDetails {

    /** The node's Unix socket. */
    Path getSocket();

    /** The secret that tells applications of one user id apart, or null when the node asks for none. */
    default @Nullable String getToken() {
        return null;
    }
}
