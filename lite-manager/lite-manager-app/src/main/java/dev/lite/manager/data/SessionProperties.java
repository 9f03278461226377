package dev.lite.manager.data;

import dev.lite.cluster.process.PropertyChecks;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The manager's own session with a node, for requests that read or change LMRs.
 *
 * @param clientSocket Socket of a node on the manager's host. By default the manager has no session, and refuses
 *     requests that read or change LMRs.
 * @param clientToken Token of the manager as an application, if the node requires one.
 * @param clientDeadline How long one operation may wait for the node.
 */
@ConfigurationProperties("lite.manager")
record SessionProperties(
        @Nullable Path clientSocket,
        @Nullable String clientToken,
        @DefaultValue("10s") Duration clientDeadline) {
    private static final int SOCKET_BYTES_MAX = 106;

    SessionProperties {
        PropertyChecks.deadline("lite.manager.client-deadline", clientDeadline);
        if (clientSocket != null) {
            int bytes = clientSocket.toString().getBytes(StandardCharsets.UTF_8).length;
            if (bytes < 1 || bytes > SOCKET_BYTES_MAX) {
                throw new IllegalArgumentException(
                        "lite.manager.client-socket is \"%s\", which has %d bytes; it must have 1 to %d"
                                .formatted(clientSocket, bytes, SOCKET_BYTES_MAX));
            }
        }
    }

    @Override
    public String toString() {
        return "SessionProperties[clientSocket=%s, clientToken=%s, clientDeadline=%s]"
                .formatted(clientSocket, clientToken == null ? "none" : "given", clientDeadline);
    }
}
