package dev.lite.session.protocol;

import dev.lite.api.Extent;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What is said on the control channel. Requests carry a number that the client chose; the node answers each with exactly
 * one reply of that number, in any order. Deadlines are nanoseconds from the receipt.
 */
public sealed interface SessionMessage {

    /** What a client may send. */
    sealed interface FromClient extends SessionMessage {}

    /** What a node may send. */
    sealed interface FromNode extends SessionMessage {}

    /** A client's request that gets a {@link Reply} of the same number. */
    sealed interface Request extends FromClient {
        /** Chosen by the client; not used by another request under way. */
        long requestId();
    }

    /** The one answer to a {@link Request}. */
    sealed interface Reply extends FromNode {
        /** The request's number. */
        long requestId();
    }

    /**
     * First message of a client.
     *
     * @param version the client's {@link SessionProtocol#VERSION}
     */
    record Hello(int version, String application, @Nullable String token) implements FromClient {
        @Override
        public String toString() {
            return "Hello[version=%d, application=%s, token=%s]"
                    .formatted(version, application, token == null ? "none" : "given");
        }
    }

    /**
     * The node takes the client; the descriptor of the {@link SessionArea} comes with it.
     *
     * @param principal who the node takes the client for
     * @param requestsMax how many requests the client may have under way
     */
    record Welcome(int version, long sessionId, String nodeName, String principal, SessionArea area, int requestsMax)
            implements FromNode {}

    /**
     * The node does not take the client, and closes.
     *
     * @param code number of a {@link dev.lite.api.LiteException.Code}
     */
    record Refused(int version, int code, String reason) implements FromNode {}

    /** See {@link dev.lite.api.LtMemory#malloc}; answered by {@link Mapped}. */
    record Malloc(long requestId, long deadlineNs, LmrSpec spec) implements Request {}

    /** See {@link dev.lite.api.LtMemory#map}; answered by {@link Mapped}. */
    record Map(long requestId, long deadlineNs, String name, Set<Permission> permissions) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#unmap}; answered by {@link Done}. */
    record Unmap(long requestId, long lh) implements Request {}

    /** Asks what a handle is good for now; answered by {@link Mapped} of the same handle. */
    record Describe(long requestId, long lh) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#free}; answered by {@link Done}. */
    record Free(long requestId, long lh) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#extents}, from the extent of this index on; answered by {@link ExtentsPage}. */
    record Extents(long requestId, long lh, int from) implements Request {}

    /** See {@link dev.lite.api.Lite#nodes}, from the node of this index on; answered by {@link NodesPage}. */
    record Nodes(long requestId, int from) implements Request {}

    /**
     * Opens something to call, to serve or to receive from; answered by {@link RpcOpened}.
     *
     * @param node whose function or port is called; empty to serve
     * @param name of the function or port
     */
    record RpcOpen(long requestId, RpcKind kind, String node, String name) implements Request {}

    /** What {@link RpcOpen} opens. */
    enum RpcKind {
        /** A function to call. */
        CLIENT(0),
        /** A port to send to. */
        SENDER(1),
        /** A function to serve. */
        SERVER(2),
        /** A port to receive from. */
        PORT(3);

        final int number;

        RpcKind(int number) {
            this.number = number;
        }
    }

    /** Closes what {@link RpcOpened} named; answered by {@link Done}, also when it was closed before. */
    record RpcClose(long requestId, long id) implements Request {}

    /** Asks who a caller is; answered by {@link RpcOriginIs}. */
    record RpcOrigin(long requestId, long origin) implements Request {}

    /** Something was opened; commands in slots name it by this number. */
    record RpcOpened(long requestId, long id) implements Reply {}

    /** A caller. */
    record RpcOriginIs(long requestId, String node, String principal) implements Reply {}

    /** See {@link dev.lite.api.LtMemory#map(long, Set, java.time.Duration)}; answered by {@link Mapped}. */
    record MapId(long requestId, long deadlineNs, long lmrId, Set<Permission> permissions) implements Request {}

    /** {@link Malloc} of an LMR that nobody else can map until it is published; answered by {@link Mapped}. */
    record Prepare(long requestId, long deadlineNs, LmrSpec spec) implements Request {}

    /** Lets others map what {@link Prepare} made; when it fails the handle is no more. Answered by {@link Done}. */
    record Publish(long requestId, long deadlineNs, long lh) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#memset}; answered by {@link Done}. */
    record Memset(long requestId, long lh, long offset, long length, byte value) implements Request {}

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
    record Grant(long requestId, long lh, String principal, Set<Permission> permissions) implements Request {}

    /** See {@link dev.lite.api.LmrHandle#moveTo}; answered by {@link Done}. */
    record MoveTo(long requestId, long lh, String node) implements Request {}

    /** A handle: a new one, or the one that was asked for. */
    record Mapped(
            long requestId, long lh, long lmrId, @Nullable String name, long size, Set<Permission> permissions)
            implements Reply {}

    /** It was done. */
    record Done(long requestId) implements Reply {}

    /**
     * Some of the extents.
     *
     * @param total how many there are in all
     */
    record ExtentsPage(long requestId, int total, List<Extent> extents) implements Reply {
        /** Copies the list. */
        public ExtentsPage {
            extents = List.copyOf(extents);
        }
    }

    /**
     * Some of the nodes.
     *
     * @param total how many there are in all
     */
    record NodesPage(long requestId, int total, List<NodeInfo> nodes) implements Reply {
        /** Copies the list. */
        public NodesPage {
            nodes = List.copyOf(nodes);
        }
    }

    /**
     * It was not done.
     *
     * @param code number of a {@link dev.lite.api.LiteException.Code}
     */
    record Failed(long requestId, int code, String message) implements Reply {}

    /** See {@link dev.lite.api.LtSync#lock}; answered by {@link LockOpened}. */
    record OpenLock(long requestId, long deadlineNs, String name) implements Request {}

    /**
     * A lock may be used.
     *
     * @param number what the session calls it from now on
     */
    record LockOpened(long requestId, long number) implements Reply {}

    /** See {@link dev.lite.api.LtLock#acquire}; answered by {@link Acquired}. It may take as long as its deadline. */
    record AcquireLock(long requestId, long deadlineNs, long number) implements Request {}

    /**
     * The session holds the lock.
     *
     * @param token the fencing token, which names the hold
     */
    record Acquired(long requestId, long token) implements Reply {}

    /** See {@link dev.lite.api.HeldLock#close}; answered by {@link Done}. */
    record ReleaseLock(long requestId, long number, long token) implements Request {}

    /**
     * What this attempt of {@link SessionProtocol.Op#TRY_LOCK} acquired, or will acquire, is released; answered by {@link
     * Done}.
     */
    record CancelTry(long requestId, long number, long attempt) implements Request {}

    /** See {@link dev.lite.api.LtBarrier#await}; answered by {@link Passed}. It may take as long as its deadline. */
    record AwaitBarrier(long requestId, long deadlineNs, String name, int parties) implements Request {}

    /** A barrier's round was passed. */
    record Passed(long requestId, long round) implements Reply {}

    /** The sender ends the session, and says why. */
    record Goodbye(String reason) implements FromClient, FromNode {}
}
