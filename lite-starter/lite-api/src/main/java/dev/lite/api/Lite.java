package dev.lite.api;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A session with this host's node ({@code LT_join} in Table 1 of the paper). Open one with {@link #attach}, or let the Spring
 * Boot starter inject it. {@link #close} unmaps every handle and frees the LMRs with {@link Lifetime#SESSION}.
 *
 * <pre>{@code
 * AttachOptions options = AttachOptions.to(Path.of("/run/lite/node.sock"), "orders").withReattach(true);
 * try (Lite lite = Lite.attach(options);
 *         LmrHandle table = lite.memory().map("table", Permission.READ, Permission.WRITE)) {
 *     table.write(0, bytes);
 * }
 * }</pre>
 *
 * <p><b>Threads.</b> Any thread may call any method of this interface and of the objects it returns.
 *
 * <p><b>Loss of the node.</b> When the node stops or dies, the session is lost. A session opened {@linkplain
 * AttachOptions#withReattach with re-attachment} connects to the node again once it has restarted; handles, locks, barriers and
 * bound functions keep working. Without it, every method that needs the node throws {@link SessionLostException} from then on.
 */
public interface Lite extends AutoCloseable {

    /** The memory interface: malloc, map and handles. Always the same object. */
    LtMemory memory();

    /** The interface for calls and messages. Always the same object. */
    LtRpc rpc();

    /** The interface for locks and barriers. Always the same object. */
    LtSync sync();

    /** The name of the node that this session is attached to. */
    String nodeName();

    /**
     * The live nodes of the cluster, as this session's node currently sees them, ordered by id.
     *
     * @throws SessionLostException when the session has ended
     * @throws LiteTimeoutException when the node did not answer within the session's deadline
     */
    List<NodeInfo> nodes();

    /** The session's deadline: how long an operation may wait unless the call names its own deadline. Positive; always the same. */
    Duration deadline();

    /** What the session has done and holds now. Asks no node; cheap enough to be read every second. */
    default LiteStatistics statistics() {
        return LiteStatistics.NONE;
    }

    /**
     * Sets the sampler, which from now on receives the duration of about one blocking operation of 256. It replaces the former sampler.
     *
     * @param sampler must not block; null for none
     */
    default void setSampler(LiteStatistics.@Nullable Sampler sampler) {}

    /**
     * Whether the session is connected to its node. It is false after {@link #close} and after the loss of the node; with
     * re-attachment it becomes true again.
     */
    boolean isOpen();

    /**
     * Completes when the session has ended: when it was closed or, without re-attachment, when its node was lost. The value is the
     * reason, as a text for people. Dependent stages run on a virtual thread.
     */
    CompletionStage<String> ended();

    /**
     * Ends the session. Waiting operations throw {@link SessionLostException}, locks are released, and servers and ports are closed.
     * LMRs with {@link Lifetime#SESSION} are freed, in the background if a node does not answer at once. A second call does nothing.
     */
    @Override
    void close();

    /**
     * Attaches to the node that listens on {@code options.socket()}. Waits at most for {@code options.deadline()}.
     *
     * @throws NodeUnreachableException when no process listens on the socket, or one whose user is not trusted
     * @throws SessionLostException when the node refused this process; the message says why
     * @throws LimitExceededException when the node has reached its limit of sessions
     * @throws LiteTimeoutException when the deadline passed first
     * @throws IllegalStateException when lite-client is not on the class path
     */
    static Lite attach(AttachOptions options) {
        Objects.requireNonNull(options, "options");
        // The context class loader need not know the client, such as that of the common pool in an executable jar.
        return ServiceLoader.load(AttachProvider.class, Lite.class.getClassLoader())
                .findFirst()
                .or(() -> ServiceLoader.load(AttachProvider.class).findFirst())
                .orElseThrow(() -> new IllegalStateException(
                        "no LITE client on the class path; add the dependency dev.lite:lite-client"))
                .attach(options);
    }

    /**
     * How to attach. Start with {@link #to}; every {@code with} method returns a changed copy.
     *
     * @param socket the node's Unix socket; a path of at most 106 bytes
     * @param application the application's name in logs and on the dashboard; it grants no rights
     * @param token the secret that identifies the application where several share a user id, or null
     * @param deadline how long an operation may wait unless the call names its own deadline; positive
     * @param reattach whether the session attaches again after its node was lost
     * @param lazy whether the session attaches at its first use; only with {@code reattach}
     * @param alternatives sockets of other nodes of this host, in order of preference; they are tried after {@code socket}
     * @param waitersMax how many operations may wait at the same time for a node that is away; at least 1
     */
    record AttachOptions(
            Path socket,
            String application,
            @Nullable String token,
            Duration deadline,
            boolean reattach,
            boolean lazy,
            List<Path> alternatives,
            int waitersMax) {
        /** The deadline of {@link #to}. */
        public static final Duration DEADLINE_DEFAULT = Duration.ofSeconds(10);
        /** The {@link #waitersMax} of {@link #to}. */
        public static final int WAITERS_MAX_DEFAULT = 64;

        /**
         * Checks the values.
         *
         * @throws IllegalArgumentException when the name is blank, is longer than 512 bytes of UTF-8, contains a control character or
         *     is no valid Unicode; when the deadline is not positive, {@code waitersMax} is below 1, or {@code lazy} is true without
         *     {@code reattach}
         */
        public AttachOptions {
            Objects.requireNonNull(socket, "socket");
            Objects.requireNonNull(deadline, "deadline");
            for (Path alternative : Objects.requireNonNull(alternatives, "alternatives")) {
                Objects.requireNonNull(alternative, "alternatives");
            }
            alternatives = List.copyOf(alternatives);
            if (waitersMax < 1) {
                throw new IllegalArgumentException(
                        "the number of operations that may wait for the node is %d; it must be at least 1"
                                .formatted(waitersMax));
            }
            Names.require("the application's name", "application", application, LmrSpec.NAME_BYTES_MAX);
            if (deadline.isNegative() || deadline.isZero()) {
                throw new IllegalArgumentException("the deadline is %s; it must be positive".formatted(deadline));
            }
            if (lazy && !reattach) {
                throw new IllegalArgumentException("a lazy session needs re-attachment; use withReattach(true)");
            }
        }

        /** No token, a deadline of 10 s, no re-attachment. */
        public static AttachOptions to(Path socket, String application) {
            return new AttachOptions(
                    socket, application, null, DEADLINE_DEFAULT, false, false, List.of(), WAITERS_MAX_DEFAULT);
        }

        /** With this token; null for none. */
        public AttachOptions withToken(@Nullable String newToken) {
            return new AttachOptions(socket, application, newToken, deadline, reattach, lazy, alternatives, waitersMax);
        }

        /** With this deadline. */
        public AttachOptions withDeadline(Duration newDeadline) {
            return new AttachOptions(socket, application, token, newDeadline, reattach, lazy, alternatives, waitersMax);
        }

        /**
         * With or without re-attachment. With it, the session attaches again after its node has restarted: at the next operation or, if
         * the session has a handler ({@link LtRpc#register}), in the background. {@link Lite#attach} itself does not retry.
         *
         * <ul>
         *   <li>Operations that begin while the node is away wait for it up to their deadline, then throw {@link
         *       NodeUnreachableException}. An interrupt ends this wait early; the interrupt status stays set.
         *   <li>Operations in flight at the loss are repeated if that is safe: reads, writes, memset, map, acquiring a lock,
         *       registering a handler, and a master's operations on its LMR. Others throw {@link SessionLostException}; they may have
         *       taken effect: malloc, fetchAdd, testSet, memcpy, calls, asynchronous operations.
         *   <li>The node released the session's locks and freed its LMRs with {@link Lifetime#SESSION}. Until the application
         *       has closed its lost {@link HeldLock}s, operations on handles throw {@link SessionLostException}: work that relied on
         *       the locks must not continue.
         *   <li>A handle whose LMR no longer exists throws {@link LmrFreedException}.
         * </ul>
         */
        public AttachOptions withReattach(boolean newReattach) {
            return new AttachOptions(
                    socket, application, token, deadline, newReattach, lazy && newReattach, alternatives, waitersMax);
        }

        /**
         * With or without lazy attachment; turns re-attachment on. A lazy session attaches at its first use, as after a loss, so {@link
         * Lite#attach} needs no node. Handlers are served as soon as the node is there. Until then {@link Lite#isOpen} is false.
         */
        public AttachOptions withLazy(boolean newLazy) {
            return new AttachOptions(
                    socket, application, token, deadline, reattach || newLazy, newLazy, alternatives, waitersMax);
        }

        /** With another socket, and no alternatives. */
        public AttachOptions withSocket(Path newSocket) {
            return new AttachOptions(newSocket, application, token, deadline, reattach, lazy, List.of(), waitersMax);
        }

        /**
         * With the sockets of other nodes of this host. The session attaches to the first node that accepts
         * it, {@link #socket} first, and stays there until that node is lost. The nodes share the deadline of
         * an attach: each has an equal part of the time that is left. After a
         * change to another node, operations in flight are repeated as after a restart, except for writes and
         * memset: those throw {@link SessionLostException}, because the lost node may still execute them.
         */
        public AttachOptions withAlternatives(List<Path> newAlternatives) {
            return new AttachOptions(socket, application, token, deadline, reattach, lazy, newAlternatives, waitersMax);
        }

        /**
         * With this limit of operations that wait at the same time for a node that is away; at least 1. Further ones throw {@link
         * NodeUnreachableException} at once, so that a lost node does not block every thread of the application.
         */
        public AttachOptions withWaitersMax(int newWaitersMax) {
            return new AttachOptions(socket, application, token, deadline, reattach, lazy, alternatives, newWaitersMax);
        }

        @Override
        public String toString() {
            return "AttachOptions[socket=%s, application=%s, token=%s, deadline=%s, reattach=%s, lazy=%s, alternatives=%s, waitersMax=%d]"
                    .formatted(
                            socket,
                            application,
                            token == null ? "none" : "given",
                            deadline,
                            reattach,
                            lazy,
                            alternatives,
                            waitersMax);
        }
    }

    /** Implemented by a client library and found by {@link ServiceLoader}. Not for applications. */
    interface AttachProvider {
        /** See {@link Lite#attach}. */
        Lite attach(AttachOptions options);
    }
}
