package dev.lite.api;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A session with this host's node ({@code LT_join} of the paper's Table 1). Open it with {@link #attach}, or let the
 * Spring Boot starter inject it. Closing it gives back every handle and frees the LMRs whose lifetime is
 * {@link Lifetime#SESSION}.
 *
 * <p>Any thread may call any method, here and on what comes from here. When the session has ended, everything that needs the
 * node throws {@link SessionLostException}.
 */
public interface Lite extends AutoCloseable {

    /** Memory: malloc, map and the handles. The same object at every call, as are the next two. */
    LtMemory memory();

    /** Calls and messages. */
    LtRpc rpc();

    /** Locks and barriers. */
    LtSync sync();

    /** The name of the node this session is attached to. */
    String nodeName();

    /**
     * The cluster's live nodes, as this session's node sees them now, by their ids.
     *
     * @throws SessionLostException when the session has ended
     * @throws LiteTimeoutException when the node did not answer within the session's deadline
     */
    List<NodeInfo> nodes();

    /** Whether the session is up. A session that lost its node is not; its handles throw {@link SessionLostException}. */
    boolean isOpen();

    /**
     * Completed with the reason, in words, when the session has ended: closed here, or lost with its node. What depends on
     * it runs on a virtual thread.
     */
    CompletionStage<String> ended();

    /**
     * Ends the session: what waits in it ends with {@link SessionLostException}, its locks pass on, its servers and ports
     * close. Its memory is freed in the background where nodes do not answer at once. A second call does nothing.
     */
    @Override
    void close();

    /**
     * Attaches to the node that listens on {@code options.socket()}.
     *
     * @throws NodeUnreachableException when nobody listens there
     * @throws SessionLostException when the node refused this process; the message has its reason
     * @throws LimitExceededException when the node has as many sessions as it may
     * @throws LiteTimeoutException when the deadline passed first
     * @throws IllegalStateException when no client is on the class path
     */
    static Lite attach(AttachOptions options) {
        return ServiceLoader.load(AttachProvider.class)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(
                        "no LITE client on the class path; add the dependency dev.lite:lite-client"))
                .attach(options);
    }

    /**
     * How to attach.
     *
     * @param socket the node's Unix socket
     * @param application the application's name, for logs and the dashboard; it gives no rights
     * @param token the secret that tells applications of one user id apart, or null when the node asks for none
     * @param deadline how long an operation may wait when the call names no deadline of its own
     */
    record AttachOptions(
            Path socket, String application, @Nullable String token, Duration deadline) {
        /** The deadline that is used when none is configured. */
        public static final Duration DEADLINE_DEFAULT = Duration.ofSeconds(10);

        /** Checks the values. */
        public AttachOptions {
            if (application.isBlank()) {
                throw new IllegalArgumentException("the application's name is blank");
            }
            if (deadline.isNegative() || deadline.isZero()) {
                throw new IllegalArgumentException("the deadline is %s; it must be positive".formatted(deadline));
            }
        }

        /** No token, the default deadline. */
        public static AttachOptions to(Path socket, String application) {
            return new AttachOptions(socket, application, null, DEADLINE_DEFAULT);
        }

        @Override
        public String toString() {
            return "AttachOptions[socket=%s, application=%s, token=%s, deadline=%s]"
                    .formatted(socket, application, token == null ? "none" : "given", deadline);
        }
    }

    /** What a client library implements; found by {@link ServiceLoader}. Applications do not use it. */
    interface AttachProvider {
        /** See {@link Lite#attach}. */
        Lite attach(AttachOptions options);
    }
}
