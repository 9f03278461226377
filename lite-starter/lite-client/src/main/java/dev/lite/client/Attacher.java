package dev.lite.client;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.SessionLostException;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixSocket;
import dev.lite.os.UserNamespace;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.Goodbye;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.Refused;
import dev.lite.session.protocol.SessionMessage.Welcome;
import dev.lite.session.protocol.SessionProtocol;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Opens sessions. Stateless; any thread. */
final class Attacher {
    private static final int ROOT_UID = 0;
    /** A healthy node makes room in its control channel within microseconds. */
    private static final long SEND_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(1);

    private Attacher() {}

    static Session attach(AttachOptions options, ClientConfig config, ClientCounts counts, Deadline deadline) {
        SessionChannel channel = new SessionChannel(connect(options.socket(), deadline));
        Session session = null;
        try {
            requireTrusted(channel.peerCredentials().uid(), options.socket(), config);
            session = greet(channel, options, deadline, config, counts);
            session.start();
            return session;
        } finally {
            if (session == null) {
                channel.close();
            }
        }
    }

    private static UnixSocket connect(Path socket, Deadline deadline) {
        try {
            return UnixSocket.connect(socket, Math.max(1, deadline.remainingNs()));
        } catch (OsException refused) {
            String advice = switch (refused.errno()) {
                case Errno.ENOENT ->
                    "there is no such socket; check that lite-node runs on this host, that its socket is configured"
                            + " to be there, and in a container that the socket's directory is mounted";
                case Errno.ECONNREFUSED ->
                    "no process listens there any more; check that lite-node runs, and in a container that the socket's"
                            + " directory is mounted and not the socket itself";
                case Errno.EACCES ->
                    "this process (uid %d) may not use it; check the socket's mode and group"
                            .formatted(UserNamespace.ownUid());
                case Errno.EAGAIN -> "the node does not accept connections; it hangs or is overloaded";
                default -> "check that lite-node runs on this host";
            };
            throw new NodeUnreachableException("no LITE node at %s: %s".formatted(socket, advice), refused);
        }
    }

    /** The process at the other end can read and change all data of the session. */
    private static void requireTrusted(int uid, Path socket, ClientConfig config) {
        Integer configured = config.nodeUid();
        if (uid == ROOT_UID || uid == UserNamespace.ownUid() || (configured != null && uid == configured)) {
            return;
        }
        throw new NodeUnreachableException(
                "the process that listens on %s has uid %d, which is neither root nor this process's own (%d); if that is the node, set the system property %s=%d"
                        .formatted(socket, uid, UserNamespace.ownUid(), ClientConfig.NODE_UID_PROPERTY, uid));
    }

    private static Session greet(
            SessionChannel channel,
            AttachOptions options,
            Deadline deadline,
            ClientConfig config,
            ClientCounts counts) {
        Path socket = options.socket();
        try {
            channel.setTimeout(Math.max(1, deadline.remainingNs()), SEND_TIMEOUT_NS);
            channel.send(Hello.of(options.application(), options.token()));
            SessionChannel.WithDescriptors answer = channel.receiveWithDescriptors();
            if (answer == null) {
                throw new SessionLostException(
                        "the node at %s closed the connection without an answer; its log says why".formatted(socket));
            }
            if (!(answer.message() instanceof Welcome welcome)) {
                answer.carrier().closeDescriptors();
                throw notWelcome(socket, answer.message());
            }
            if (answer.carrier().lacksDescriptors()) {
                answer.carrier().closeDescriptors();
                throw new SessionLostException(
                        "attaching to the node at %s failed: this process has no file descriptor left for the session's memory"
                                .formatted(socket));
            }
            SharedMemory memory = map(socket, welcome, answer);
            try {
                channel.setTimeout(0, SEND_TIMEOUT_NS);
            } catch (OsException failed) {
                memory.close();
                throw failed;
            }
            return new Session(channel, welcome, memory, socket, options.deadline(), config, counts);
        } catch (ProtocolException invalid) {
            throw brokenProtocol(socket, invalid);
        } catch (OsException failed) {
            if (failed.errno() == Errno.EAGAIN) {
                throw new LiteTimeoutException(
                        "the node at %s did not answer the attach within %s; it hangs or is overloaded"
                                .formatted(socket, deadline),
                        failed);
            }
            throw new SessionLostException("attaching to the node at %s failed".formatted(socket), failed);
        }
    }

    private static SharedMemory map(Path socket, Welcome welcome, SessionChannel.WithDescriptors answer)
            throws ProtocolException {
        int[] descriptors = answer.carrier().descriptors();
        boolean known =
                welcome.version() >= SessionProtocol.OLDEST_VERSION && welcome.version() <= SessionProtocol.VERSION;
        if (!known || descriptors.length != 1 || welcome.requestsMax() < 1) {
            answer.carrier().closeDescriptors();
            throw new ProtocolException(
                    "a welcome of version %d with %d descriptors and %d requests; expected %d to %d, 1 and at least 1"
                            .formatted(
                                    welcome.version(),
                                    descriptors.length,
                                    welcome.requestsMax(),
                                    SessionProtocol.OLDEST_VERSION,
                                    SessionProtocol.VERSION));
        }
        try {
            return SharedMemory.fromDescriptor(descriptors[0], welcome.area().bytes(), true);
        } catch (IllegalArgumentException invalid) {
            throw new ProtocolException(
                    "the session memory from %s does not fit: %s".formatted(socket, invalid.getMessage()));
        }
    }

    private static LiteException notWelcome(Path socket, SessionMessage answer) {
        return switch (answer) {
            case Refused refused -> refusal(socket, refused);
            case Goodbye goodbye ->
                new SessionLostException("the node at %s ended the attach: %s".formatted(socket, goodbye.reason()));
            default -> brokenProtocol(socket, ControlRequests.unexpected(answer));
        };
    }

    private static LiteException refusal(Path socket, Refused refused) {
        boolean newer = refused.version() > SessionProtocol.VERSION
                && refused.code() == LiteException.Code.SESSION_LOST.number();
        if (newer || refused.version() < SessionProtocol.OLDEST_VERSION) {
            return new SessionLostException(
                    "the node at %s speaks session protocol %d, this client %d to %d: %s; upgrade them one version of LITE at a time"
                            .formatted(
                                    socket,
                                    refused.version(),
                                    SessionProtocol.OLDEST_VERSION,
                                    SessionProtocol.VERSION,
                                    refused.reason()));
        }
        return LiteException.Code.exception(
                refused.code(), "the node at %s refused: %s".formatted(socket, refused.reason()));
    }

    private static SessionLostException brokenProtocol(Path socket, ProtocolException invalid) {
        return new SessionLostException(
                "the process that listens on %s does not speak the session protocol: %s"
                        .formatted(socket, invalid.getMessage()),
                invalid);
    }
}
