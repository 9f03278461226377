package dev.lite.manager.web;

import dev.lite.cluster.process.PropertyChecks;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Access control and limits of the manager's web interface.
 *
 * @param token Token that clients must send, as a bearer token or as the password of a login: 16 to 1024 visible ASCII
 *     characters. Required unless the manager listens on a loopback address.
 * @param tokenFile File with the token, instead of the property; trailing line breaks are ignored.
 * @param tokens Further tokens, each with the name of its owner, a role and its SHA-256.
 * @param requestDeadline How long a request may wait for the cluster's directory.
 * @param events Server-sent events.
 */
@ConfigurationProperties("lite.manager")
public record WebProperties(
        @Nullable String token,
        @Nullable Path tokenFile,
        @DefaultValue List<NamedToken> tokens,
        @DefaultValue("5s") Duration requestDeadline,
        @DefaultValue Events events) {
    private static final Duration DEADLINE_MIN = Duration.ofMillis(100);
    private static final Duration DEADLINE_MAX = Duration.ofMinutes(1);

    /** Validates. */
    public WebProperties {
        PropertyChecks.range("lite.manager.request-deadline", requestDeadline, DEADLINE_MIN, DEADLINE_MAX);
    }

    /**
     * A token of one client.
     *
     * @param name Name of the client in the audit log: 1 to 63 of a-z A-Z 0-9 . _ -.
     * @param role What it may do: reader (sees the state of the cluster) or operator (everything).
     * @param sha256 SHA-256 of the token, in hexadecimal digits. The token should be random.
     */
    public record NamedToken(
            @Nullable String name,
            @DefaultValue("reader") Role role,
            @Nullable String sha256) {
        @Override
        public String toString() {
            return "NamedToken[name=%s, role=%s]".formatted(name, role);
        }
    }

    /**
     * Server-sent events.
     *
     * @param subscribers Maximum number of subscribers.
     * @param queue Maximum number of events waiting for one subscriber; a slower subscriber is disconnected and may
     *     reconnect for the rest.
     * @param history Number of events kept for subscribers that reconnect.
     * @param heartbeat Maximum time without data on a stream.
     * @param lifetime Maximum duration of a stream; the subscriber then reconnects.
     */
    public record Events(
            @DefaultValue("64") int subscribers,
            @DefaultValue("256") int queue,
            @DefaultValue("1024") int history,
            @DefaultValue("10s") Duration heartbeat,
            @DefaultValue("1h") Duration lifetime) {
        private static final int COUNT_MAX = 65_536;

        /** Validates. */
        public Events {
            PropertyChecks.range("lite.manager.events.subscribers", subscribers, 1, COUNT_MAX);
            PropertyChecks.range("lite.manager.events.queue", queue, 1, COUNT_MAX);
            PropertyChecks.range("lite.manager.events.history", history, 1, COUNT_MAX);
            PropertyChecks.range("lite.manager.events.heartbeat", heartbeat, DEADLINE_MIN, Duration.ofHours(1));
            PropertyChecks.range("lite.manager.events.lifetime", lifetime, DEADLINE_MIN, Duration.ofDays(7));
        }
    }

    @Override
    public String toString() {
        return "WebProperties[token=%s, tokens=%s, requestDeadline=%s, events=%s]"
                .formatted(token == null && tokenFile == null ? "none" : "given", tokens, requestDeadline, events);
    }
}
