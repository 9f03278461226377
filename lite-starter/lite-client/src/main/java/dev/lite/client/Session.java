package dev.lite.client;

import dev.lite.api.NodeInfo;
import dev.lite.api.SessionLostException;
import dev.lite.os.OsException;
import dev.lite.os.Received;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.session.async.AsyncOperations;
import dev.lite.session.async.HelpedFutures;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.ChannelEnded;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.session.protocol.SessionMessage.Free;
import dev.lite.session.protocol.SessionMessage.Goodbye;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.NodesPage;
import dev.lite.session.protocol.SessionMessage.Reply;
import dev.lite.session.protocol.SessionMessage.Unmap;
import dev.lite.session.protocol.SessionMessage.Welcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One session, from its welcome to its end. A reader thread receives on the control channel. When the channel ends, that thread wakes all
 * waiting threads and then frees the session's memory and socket. It is their only owner, so nothing is freed twice or too early.
 * The other methods may be called by any thread.
 */
final class Session {
    private static final Logger LOG = LoggerFactory.getLogger(Session.class);
    private static final long NODE_MARGIN_NS_MAX = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long LAST_REPLIES_WAIT_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long LAST_OPERATION_WAIT_NS = TimeUnit.SECONDS.toNanos(60);
    private static final long DETACH_WAIT_MS = 2_000;

    private final SessionChannel channel;
    private final Welcome welcome;
    private final Path socket;
    private final Duration deadline;
    private final long deadlineNs;
    private final long nodeTimeoutNs;
    private final ClientConfig config;
    private final ClientCounts counts;
    private final SessionUse use = new SessionUse();
    private final DataPath data;
    private final ReceiveSlots receives;
    private final ControlRequests requests;
    private final ClientChannels channels;
    private final AsyncOperations async;
    private final AtomicBoolean detached = new AtomicBoolean();
    /** Why the session ended; the first reason is kept. */
    private final AtomicReference<@Nullable String> lostReason = new AtomicReference<>();

    private final CompletableFuture<String> ended = new CompletableFuture<>();
    private final Thread reader;

    /** Takes over the channel and the memory; the reader owns them from {@link #start} on. */
    Session(
            SessionChannel channel,
            Welcome welcome,
            SharedMemory memory,
            Path socket,
            Duration deadline,
            ClientConfig config,
            ClientCounts counts) {
        this.channel = channel;
        this.welcome = welcome;
        this.socket = socket;
        this.deadline = deadline;
        this.deadlineNs = LiteClient.toNanos(deadline);
        this.nodeTimeoutNs = forNode(deadlineNs);
        this.config = config;
        this.counts = counts;
        Turns turns = new Turns();
        data = new DataPath(memory, welcome.area(), config.spins(), turns, counts);
        receives = new ReceiveSlots(welcome.area().slots(), data.slots()::noteReceives);
        async = new AsyncOperations(AsyncOperations.OPERATIONS_DEFAULT, new HelpedFutures(data::help));
        requests = new ControlRequests(channel, welcome.nodeName(), welcome.requestsMax());
        channels = new ClientChannels(this, config.spins(), turns);
        reader = Thread.ofPlatform()
                .daemon()
                .name("lite-client-" + welcome.nodeName() + "-" + welcome.sessionId())
                .unstarted(this::read);
    }

    void start() {
        reader.start();
    }

    String nodeName() {
        return welcome.nodeName();
    }

    Path socket() {
        return socket;
    }

    Duration deadline() {
        return deadline;
    }

    long deadlineNs() {
        return deadlineNs;
    }

    ClientConfig config() {
        return config;
    }

    ClientCounts counts() {
        return counts;
    }

    SessionUse use() {
        return use;
    }

    /** A little less than the caller waits, so that the node's own message about a timeout still arrives. */
    static long forNode(long timeoutNs) {
        return timeoutNs - marginNs(timeoutNs);
    }

    /** How much earlier than its caller the node gives up, and how much longer a caller waits for the answer of a busy node. */
    static long marginNs(long timeoutNs) {
        return Math.min(timeoutNs / 5, NODE_MARGIN_NS_MAX);
    }

    /** The time-out of the node for an operation that waits for the session's deadline, in nanoseconds. */
    long nodeTimeoutNs() {
        return nodeTimeoutNs;
    }

    /** The request that frees an LMR by this handle, within the session's deadline. */
    Free free(long requestId, long lh) {
        return new Free(requestId, nodeTimeoutNs, lh);
    }

    /** The request that unmaps this handle, likewise. */
    Unmap unmap(long requestId, long lh) {
        return new Unmap(requestId, nodeTimeoutNs, lh);
    }

    DataPath data() {
        return data;
    }

    ReceiveSlots receives() {
        return receives;
    }

    ControlRequests requests() {
        return requests;
    }

    ClientChannels channels() {
        return channels;
    }

    AsyncOperations async() {
        return async;
    }

    /** The live nodes of the cluster. */
    List<NodeInfo> nodes(long timeoutNs) {
        long beganNs = System.nanoTime();
        List<NodeInfo> nodes = new ArrayList<>();
        NodesPage page;
        do {
            int from = nodes.size();
            long leftNs = RpcCommandPath.leftNs(timeoutNs, beganNs);
            page = requests.ask("the list of nodes", NodesPage.class, leftNs, id -> new Nodes(id, from), null);
            nodes.addAll(page.nodes());
        } while (nodes.size() < page.total() && !page.nodes().isEmpty());
        return List.copyOf(nodes);
    }

    /** Whether the session's node is connected to a node, or is it. */
    boolean isConnected(String node, long timeoutNs) {
        return nodes(timeoutNs).stream()
                .anyMatch(one -> one.name().equals(node) && !one.fabric().equals("none"));
    }

    boolean isOpen() {
        return lostReason.get() == null;
    }

    /** The exception of every operation after the end. */
    SessionLostException lost() {
        String reason = lostReason.get();
        return new SessionLostException(reason == null ? describe("no reason is known") : reason);
    }

    private String describe(String reason) {
        return "the session with node %s (%s) ended: %s".formatted(nodeName(), socket, reason);
    }

    private void read() {
        String reason = "the node closed the connection; it stopped or died";
        try {
            SessionChannel.WithDescriptors received;
            while ((received = channel.receiveWithDescriptors()) != null) {
                if (received.message() instanceof Goodbye goodbye) {
                    received.carrier().closeDescriptors();
                    reason = goodbye.reason();
                    break;
                }
                read(received.message(), received.carrier());
            }
        } catch (ProtocolException invalid) {
            reason = "the node violated the protocol: " + invalid.getMessage();
        } catch (OsException | IllegalArgumentException failed) {
            reason = "the control channel failed: " + failed.getMessage();
        } finally {
            end(reason);
        }
    }

    private void read(SessionMessage message, Received carrier) throws ProtocolException {
        boolean expected = message instanceof ChannelOpened || message instanceof ChannelOffered;
        boolean there = expected && !carrier.lacksDescriptors();
        int[] descriptors = carrier.descriptors();
        ClientChannels.requireDescriptors(
                descriptors, there ? 1 : 0, message.getClass().getSimpleName());
        int descriptor = there ? descriptors[0] : ClientChannels.NO_DESCRIPTOR;
        switch (message) {
            case ChannelOffered offered -> channels.offered(offered, descriptor);
            case ChannelEnded ended -> channels.ended(ended);
            case ChannelRetired retired -> channels.retired(retired);
            case Reply reply -> {
                if (reply instanceof ChannelOpened opened) {
                    channels.opened(opened, descriptor);
                }
                requests.reply(reply);
            }
            default -> throw ControlRequests.unexpected(message);
        }
    }

    CompletionStage<String> ended() {
        return ended.minimalCompletionStage();
    }

    private void end(String reason) {
        lostReason.compareAndSet(null, describe(reason));
        String known = lostReason.get();
        requests.lose(known == null ? reason : known);
        data.lose();
        channels.lose(known == null ? reason : known);
        channel.close();
        if (!detached.get()) {
            LOG.warn("{}", known);
        }
        ended.completeAsync(
                () -> String.valueOf(known),
                work -> Thread.ofVirtual().name("lite-client-ended").start(work));
        if (!data.close(System.nanoTime() + LAST_OPERATION_WAIT_NS)) {
            LOG.warn(
                    "{}: an operation was still running {} s later; the session's memory stays mapped",
                    known,
                    TimeUnit.NANOSECONDS.toSeconds(LAST_OPERATION_WAIT_NS));
        }
    }

    /** Detaches: notifies the node, waits until it has released everything, at most 2 s, and frees the local resources. */
    void detach() {
        if (!detached.compareAndSet(false, true)) {
            return;
        }
        long repliesUntilNs = System.nanoTime() + LAST_REPLIES_WAIT_NS;
        use.functions().keySet().forEach(server -> server.leave(repliesUntilNs));
        String reason = describe("this application closed it");
        lostReason.compareAndSet(null, reason);
        requests.lose(reason);
        data.slots().awaitUnwatched(repliesUntilNs); // replies that the node has not sent yet
        data.lose();
        channels.lose(reason);
        try {
            channel.send(new Goodbye("detached"));
        } catch (OsException notSent) {
            channel.shutdown();
        }
        joinReader(DETACH_WAIT_MS);
        channel.shutdown();
        joinReader(DETACH_WAIT_MS);
    }

    private void joinReader(long waitMs) {
        boolean interrupted = Thread.interrupted();
        try {
            reader.join(waitMs);
        } catch (InterruptedException kept) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
