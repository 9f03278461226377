package dev.lite.boot;

import dev.lite.api.Lite;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Properties of the session with this host's LITE node.
 *
 * @param enabled Whether to attach to this host's node and create the beans Lite, LtMemory, LtRpc and LtSync.
 * @param socket Unix socket of this host's node; a path of at most 106 bytes.
 * @param alternativeSockets Sockets of other nodes of this host, in order of preference. They are tried when the node at the first one
 *     does not accept the application. Default: none.
 * @param waitersMax How many operations may wait at the same time for a node that is away; further ones fail at once.
 * @param application Name of the application in the node's logs and dashboard; it grants no rights. Default: the value of
 *     spring.application.name.
 * @param token Secret that identifies the application where several share a user id. Not needed unless the node is configured so.
 * @param deadline How long an operation may wait unless the call names its own deadline.
 * @param lazyAttach Whether to attach at the first use instead of at the start, which then does not need a node.
 * @param startDeadline How long the start of the application waits for a node that is not there yet. Default: not at all.
 */
@ConfigurationProperties("lite.client")
public record LiteClientProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("/run/lite/node.sock") Path socket,
        @DefaultValue List<Path> alternativeSockets,
        @DefaultValue("64") int waitersMax,
        @Nullable String application,
        @Nullable String token,
        @DefaultValue("10s") Duration deadline,
        @DefaultValue("false") boolean lazyAttach,
        @DefaultValue("0s") Duration startDeadline) {

    private static final int SOCKET_BYTES_MAX = 106;

    /** Checks the values. */
    public LiteClientProperties {
        checkSocket("lite.client.socket", socket);
        for (int i = 0; i < alternativeSockets.size(); i++) {
            checkSocket("lite.client.alternative-sockets[%d]".formatted(i), alternativeSockets.get(i));
        }
        if (deadline.isNegative() || deadline.isZero()) {
            throw new IllegalArgumentException("lite.client.deadline is %s; it must be positive".formatted(deadline));
        }
        if (waitersMax < 1) {
            throw new IllegalArgumentException(
                    "lite.client.waiters-max is %d; it must be at least 1".formatted(waitersMax));
        }
        if (startDeadline.isNegative()) {
            throw new IllegalArgumentException(
                    "lite.client.start-deadline is %s; it must be 0 (no wait) or more".formatted(startDeadline));
        }
    }

    /** The deadline of the application's session, which need not be that of these properties: it may have a node of its own. */
    public Duration deadlineOf(ObjectProvider<Lite> session) {
        Lite lite = session.getIfUnique();
        return lite == null ? deadline : lite.deadline();
    }

    /** @param path null for an empty element of a list */
    private static void checkSocket(String property, @Nullable Path path) {
        String socket = path == null ? "" : path.toString();
        int bytes = socket.getBytes(StandardCharsets.UTF_8).length;
        if (bytes < 1 || bytes > SOCKET_BYTES_MAX) {
            throw new IllegalArgumentException("%s is \"%s\", which has %d bytes; it must have 1 to %d"
                    .formatted(property, socket, bytes, SOCKET_BYTES_MAX));
        }
    }

    @Override
    public String toString() {
        return "LiteClientProperties[enabled=%s, socket=%s, alternativeSockets=%s, waitersMax=%d, application=%s, token=%s, deadline=%s, lazyAttach=%s, startDeadline=%s]"
                .formatted(
                        enabled,
                        socket,
                        alternativeSockets,
                        waitersMax,
                        application,
                        token == null ? "none" : "given",
                        deadline,
                        lazyAttach,
                        startDeadline);
    }
}
