package dev.lite.session.protocol;

import dev.lite.api.Extent;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.RpcStatus;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.LinkKeys;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The messages of the control channel. The client numbers its requests; the node answers each with exactly one reply of the same
 * number, in any order. Deadlines are in nanoseconds, counted from the receipt of the request.
 */
public sealed interface SessionMessage {

    /** A message that a client may send. */
    sealed interface FromClient extends SessionMessage {}

    /** A message that a node may send. */
    sealed interface FromNode extends SessionMessage {}

    /** A request of a client; it gets one {@link Reply} with the same number. */
    sealed interface Request extends FromClient {
        /** Chosen by the client; no other request under way has it. */
        long requestId();
    }

    /** The one answer to a {@link Request}. */
    sealed interface Reply extends FromNode {
        /** The request's number. */
        long requestId();
    }

    /**
     * The first message of a client.
     *
     * @param version the client's {@link SessionProtocol#VERSION}
     * @param oldest the client's {@link SessionProtocol#OLDEST_VERSION}
     */
    record Hello(
            int version,
            int oldest,
            String application,
            @Nullable String token) implements FromClient {
        /** That of a client of this version. */
        public static Hello of(String application, @Nullable String token) {
            return new Hello(SessionProtocol.VERSION, SessionProtocol.OLDEST_VERSION, application, token);
        }

        /** Whether both sides work with one version. */
        public boolean fits() {
            return version >= SessionProtocol.OLDEST_VERSION && oldest <= SessionProtocol.VERSION;
        }

        /** The version of the session, if it {@link #fits}. */
        public int sessionVersion() {
            return Math.min(version, SessionProtocol.VERSION);
        }

        @Override
        public String toString() {
            return "Hello[version=%d, application=%s, token=%s]"
                    .formatted(version, application, token == null ? "none" : "given");
        }
    }

    /**
     * The node accepts the client. The descriptor of the {@link SessionArea} comes with this message.
     *
     * @param version the version of the session
     * @param principal the client's principal, as the node authenticated it
     * @param requestsMax how many requests the client may have under way
     */
    record Welcome(int version, long sessionId, String nodeName, String principal, SessionArea area, int requestsMax)
            implements FromNode {}

    /**
     * The node rejects the client and closes the connection.
     *
     * @param version the node's {@link SessionProtocol#VERSION}
     * @param code number of a {@link dev.lite.api.LiteException.Code}
     */
    record Refused(int version, int code, String reason) implements FromNode {}

    /** See {@link dev.lite.api.LtMemory#malloc}; answered by {@link Mapped}. */
    record Malloc(long requestId, long deadlineNs, LmrSpec spec) implements Request {}

    /** See {@link dev.lite.api.LtMemory#createOrMap}; answered by {@link Mapped}. */
    record CreateOrMap(long requestId, long deadlineNs, LmrSpec spec, Set<Permission> permissions) implements Request {}

    /** See {@link dev.lite.api.LtMemory#map}; answered by {@link Mapped}. */
    record Map(long requestId, long deadlineNs, String name, Set<Permission> permissions) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#unmap}; answered by {@link Done}. */
    record Unmap(long requestId, long deadlineNs, long lh) implements Request {}

    /** Queries the current permissions of a handle; answered by {@link Mapped} with the same handle. */
    record Describe(long requestId, long lh) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#free}; answered by {@link Done}. */
    record Free(long requestId, long deadlineNs, long lh) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#extents}, from the extent of this index on; answered by {@link ExtentsPage}. */
    record Extents(long requestId, long lh, int from) implements Request {}

    /** See {@link dev.lite.api.Lite#nodes}, from the node of this index on; answered by {@link NodesPage}. */
    record Nodes(long requestId, int from) implements Request {}

    /**
     * Opens a function or port, to call, serve, send to or receive from; answered by {@link RpcOpened}.
     *
     * @param node the node whose function or port is used; empty to serve or receive
     * @param name of the function or port
     */
    record RpcOpen(long requestId, RpcKind kind, String node, String name) implements Request {}

    /** The purpose of {@link RpcOpen}. */
    enum RpcKind {
        /** A function to call. */
        CLIENT(0),
        /** A port to send to. */
        SENDER(1),
        /** A function to serve. */
        SERVER(2),
        /** A port to receive from. */
        PORT(3),
        /** A function to call at any node that serves it; the node's name is empty. */
        ANY(4);

        final int number;

        RpcKind(int number) {
            this.number = number;
        }
    }

    /** Closes what {@link RpcOpen} opened; answered by {@link Done}, also when it was already closed. */
    record RpcClose(long requestId, long id) implements Request {}

    /** Queries the name of a caller; answered by {@link RpcOriginIs}. */
    record RpcOrigin(long requestId, long origin) implements Request {}

    /** A function or port was opened; commands in slots refer to it by this number. */
    record RpcOpened(long requestId, long id) implements Reply {}

    /** The node and principal of a caller. */
    record RpcOriginIs(long requestId, String node, String principal) implements Reply {}

    /** See {@link dev.lite.api.LtMemory#map(long, Set, java.time.Duration)}; answered by {@link Mapped}. */
    record MapId(long requestId, long deadlineNs, long lmrId, Set<Permission> permissions) implements Request {}

    /** {@link Malloc} of an LMR that others cannot map until it is published; answered by {@link Mapped}. */
    record Prepare(long requestId, long deadlineNs, LmrSpec spec) implements Request {}

    /** Lets others map the LMR of {@link Prepare}; answered by {@link Done}. A failure frees the LMR and its handle. */
    record Publish(long requestId, long deadlineNs, long lh) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#memset}; answered by {@link Done}. */
    record Memset(long requestId, long deadlineNs, long lh, long offset, long length, byte value) implements Request {}

    /**
     * See {@link dev.lite.api.LtMemory#memcpy} and {@link dev.lite.api.LtMemory#memmove}; answered by {@link Done}.
     *
     * @param overlapAllowed whether it is memmove
     */
    record Copy(
            long requestId,
            long deadlineNs,
            long source,
            long sourceOffset,
            long target,
            long targetOffset,
            long length,
            boolean overlapAllowed)
            implements Request {}

    /** See {@link dev.lite.api.LmrHandle#grant}; answered by {@link Done}. */
    record Grant(long requestId, long deadlineNs, long lh, String principal, Set<Permission> permissions)
            implements Request {}

    /** See {@link dev.lite.api.LmrHandle#moveTo}; answered by {@link Done}. */
    record MoveTo(long requestId, long deadlineNs, long lh, String node) implements Request {}

    /** A handle: a new one, or the one of {@link Describe}. */
    record Mapped(
            long requestId, long lh, long lmrId, @Nullable String name, long size, Set<Permission> permissions)
            implements Reply {}

    /** The request was executed. */
    record Done(long requestId) implements Reply {}

    /**
     * A part of the list of extents.
     *
     * @param total the length of the whole list
     */
    record ExtentsPage(long requestId, int total, List<Extent> extents) implements Reply {
        /** Copies the list. */
        public ExtentsPage {
            extents = List.copyOf(extents);
        }
    }

    /**
     * A part of the list of nodes.
     *
     * @param total the length of the whole list
     */
    record NodesPage(long requestId, int total, List<NodeInfo> nodes) implements Reply {
        /** Copies the list. */
        public NodesPage {
            nodes = List.copyOf(nodes);
        }
    }

    /**
     * The request failed.
     *
     * @param code number of a {@link dev.lite.api.LiteException.Code}
     * @param status of {@link dev.lite.api.RpcFailedException}; else {@link RpcStatus#UNKNOWN}
     */
    record Failed(long requestId, int code, RpcStatus status, String message) implements Reply {}

    /** See {@link dev.lite.api.LtSync#lock}; answered by {@link LockOpened}. */
    record OpenLock(long requestId, long deadlineNs, String name) implements Request {}

    /**
     * A lock was opened.
     *
     * @param number identifies the lock in this session
     */
    record LockOpened(long requestId, long number) implements Reply {}

    /** See {@link dev.lite.api.LtLock#acquire}; answered by {@link Acquired}, possibly not before its deadline. */
    record AcquireLock(long requestId, long deadlineNs, long number) implements Request {}

    /**
     * The session holds the lock.
     *
     * @param token the fencing token; with the number of the lock it identifies the hold
     */
    record Acquired(long requestId, long token) implements Reply {}

    /** See {@link dev.lite.api.HeldLock#close}; answered by {@link Done}. */
    record ReleaseLock(long requestId, long number, long token) implements Request {}

    /**
     * Releases the lock if this attempt of {@link SessionProtocol.Op#TRY_LOCK} acquired it or will acquire it; answered by {@link
     * Done}.
     */
    record CancelTry(long requestId, long number, long attempt) implements Request {}

    /** See {@link dev.lite.api.LtBarrier#await}; answered by {@link Passed}, possibly not before its deadline. */
    record AwaitBarrier(long requestId, long deadlineNs, String name, int parties) implements Request {}

    /** All parties of a barrier's round have arrived. */
    record Passed(long requestId, long round) implements Reply {}

    /**
     * Asks for a {@linkplain dev.lite.session.channel channel} to a function; answered by {@link ChannelOpened}. Refused if the nodes'
     * fabric can make none, or if not exactly one application serves the function: calls then go through the nodes.
     *
     * @param client the number of the function, as {@link RpcOpened} gave it
     */
    record ChannelOpen(long requestId, long deadlineNs, long client) implements Request {}

    /**
     * The application may call through this channel. The descriptor of its memory comes with this message; or that of its connection,
     * if the function is on another host.
     *
     * @param channel chosen by the node; unique in the session
     * @param keys of the connection; null if the descriptor is that of memory
     */
    record ChannelOpened(
            long requestId,
            long channel,
            ChannelArea area,
            @Nullable LinkKeys keys) implements Reply {}

    /**
     * Another application asks for a channel to a function that this one serves. A descriptor comes with this message as with {@link
     * ChannelOpened}. The application answers with {@link ChannelTaken} or {@link ChannelClose}.
     *
     * @param channel chosen by the node; unique in the session
     * @param server the number of the function, as {@link RpcOpened} gave it
     * @param node of the caller
     * @param principal of the caller
     * @param keys as in {@link ChannelOpened}
     */
    record ChannelOffered(
            long channel,
            long server,
            ChannelArea area,
            String node,
            String principal,
            @Nullable LinkKeys keys) implements FromNode {}

    /** From now on the application receives from an offered channel; answered by {@link Done}. */
    record ChannelTaken(long requestId, long channel) implements Request {}

    /** Ends a channel, of either kind; answered by {@link Done}, also when it has ended already. */
    record ChannelClose(long requestId, long channel) implements Request {}

    /** A channel has ended, because of its other end or of a node. Its application must not use it any more. */
    record ChannelEnded(long channel, String reason) implements FromNode {}

    /**
     * The application must not begin calls in a channel any more, and must close it when those under way have ended. Other calls go
     * through the nodes.
     */
    record ChannelRetired(long channel, String reason) implements FromNode {}

    /** The sender ends the session for this reason. */
    record Goodbye(String reason) implements FromClient, FromNode {}
}
