package dev.lite.client.fake;

import dev.lite.api.Extent;
import dev.lite.api.LiteException;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.RpcStatus;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixServerSocket;
import dev.lite.session.protocol.CompletionBell;
import dev.lite.session.protocol.Doorbell;
import dev.lite.session.protocol.FurtherCalls;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionCodec;
import dev.lite.session.protocol.SessionMessage.AcquireLock;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.AwaitBarrier;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.Describe;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Extents;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.FromNode;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.LockOpened;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Map;
import dev.lite.session.protocol.SessionMessage.MapId;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.OpenLock;
import dev.lite.session.protocol.SessionMessage.Passed;
import dev.lite.session.protocol.SessionMessage.Prepare;
import dev.lite.session.protocol.SessionMessage.Reply;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionMessage.RpcOrigin;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionMessage.Welcome;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.session.wire.WireError;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The node's end of the session protocol: a real Unix socket and real shared memory, without a tier behind them. Every handle refers to
 * one memory of {@value #LMR_BYTES} bytes; a call is answered with its own request, and refused if its
 * function was closed. Tests hold commands and requests back, and answer them late. Serves one session at
 * a time; when that has ended, the next one.
 */
public final class FakeNode implements AutoCloseable {
    /** The node's name. */
    public static final String NAME = "fake";

    /** The size of every LMR. */
    public static final int LMR_BYTES = 1 << 16;

    /** Slots of a session; few, so that tests can use them up. */
    public static final int SLOTS = 4;

    /** The size of a slot's window. */
    public static final int WINDOW_BYTES = 4096;

    /** Maximum number of outstanding requests of a client. */
    public static final int REQUESTS_MAX = 4;

    private static final double TIME_SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final long BLOCK_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final SessionArea AREA = new SessionArea(SLOTS, WINDOW_BYTES);

    /** A command, copied out of its slot. */
    public record Command(
            int slot, int op, long lh, long offset, long length, long operand0, long operand1, long timeoutNs) {}

    private final UnixServerSocket server;
    private final Path socket;
    private final MemorySegment lmr = MemorySegment.ofArray(new long[LMR_BYTES / Long.BYTES]);
    private final AtomicLong lastNumber = new AtomicLong();
    private final Set<Long> closedNumbers = ConcurrentHashMap.newKeySet();
    private final BlockingQueue<Request> received = new LinkedBlockingQueue<>();
    private final BlockingQueue<Request> heldRequests = new LinkedBlockingQueue<>();
    private final BlockingQueue<Command> heldCommands = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> replies = new LinkedBlockingQueue<>();
    private final Thread acceptor;

    private volatile @Nullable FromNode refusal;
    private volatile Predicate<Request> holdsRequest = request -> false;
    private volatile IntPredicate holdsCommand = op -> false;
    private volatile LiteException.@Nullable Code failure;
    private volatile @Nullable Session session;
    private volatile boolean closed;

    /** Listens on this socket. */
    public FakeNode(Path socket) {
        this.socket = socket;
        server = UnixServerSocket.bind(socket, 0600, 8);
        acceptor = Thread.ofPlatform().daemon().name("fake-node").start(this::accept);
    }

    /** The path of the socket. */
    public Path socket() {
        return socket;
    }

    /** Answers the next Hello with this message instead of a Welcome. */
    public void refuseWith(FromNode message) {
        refusal = message;
    }

    /** Holds back the requests for which this is true; see {@link #awaitHeldRequest} and {@link #reply}. */
    public void holdRequests(Predicate<Request> hold) {
        holdsRequest = hold;
    }

    /** Holds back the commands with these operations; see {@link #awaitHeldCommand} and {@link #complete}. */
    public void holdCommands(IntPredicate hold) {
        holdsCommand = hold;
    }

    /** Fails every command that is not held back with this error; null ends that. */
    public void failCommands(LiteException.@Nullable Code code) {
        failure = code;
    }

    /** Waits for a request of this type; requests of other types are skipped. */
    public <R extends Request> R awaitRequest(Class<R> type) {
        while (true) {
            Request request = take(received, type.getSimpleName());
            if (type.isInstance(request)) {
                return type.cast(request);
            }
        }
    }

    /** Waits for a request that is held back. */
    public Request awaitHeldRequest() {
        return take(heldRequests, "a request that is held back");
    }

    /** Waits for a command that is held back. */
    public Command awaitHeldCommand() {
        return take(heldCommands, "a command that is held back");
    }

    /** Waits for the next reply or failure of a served call, as text. */
    public String awaitReply() {
        return take(replies, "a reply to a call");
    }

    private static <T> T take(BlockingQueue<T> queue, String what) {
        try {
            T taken = queue.poll((long) (20 * TIME_SCALE), TimeUnit.SECONDS);
            if (taken == null) {
                throw new AssertionError("the client did not send " + what);
            }
            return taken;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Sends a message, for example the reply to a request that was held back. */
    public void reply(FromNode message, int... descriptors) {
        current().channel.send(message, descriptors);
    }

    /** Answers a request that was held back as if it were not. */
    public void answer(Request request) {
        reply(answerTo(request));
    }

    /** Completes a command that was held back. */
    public void complete(Command command, long result) {
        current().complete(command.slot(), 0, result);
    }

    /** Fails a command that was held back. */
    public void fail(Command command, LiteException.Code code) {
        current().fail(command.slot(), code);
    }

    /** Completes a receive that was held back with a call, whose caller takes a reply of any length. */
    public void completeWithCall(Command command, long call, String request) {
        completeWithCall(command, call, request, WINDOW_BYTES);
    }

    /** Likewise, with the longest reply that its caller takes. */
    public void completeWithCall(Command command, long call, String request, int replyBytesMax) {
        completeWithCall(command, call, 1, request, replyBytesMax);
    }

    /** Likewise, of the caller with this number; the others are of caller 1. */
    public void completeWithCall(Command command, long call, long origin, String request, int replyBytesMax) {
        Session current = current();
        byte[] bytes = request.getBytes(StandardCharsets.UTF_8);
        RawMemory.copyFrom(MemorySegment.ofArray(bytes), 0, current.window(command.slot()), bytes.length);
        RawMemory.putLong(current.slot(command.slot()) + SessionArea.CALL, call);
        RawMemory.putLong(current.slot(command.slot()) + SessionArea.ORIGIN, origin);
        RawMemory.putInt(current.slot(command.slot()) + SessionArea.REPLY_BYTES_MAX, replyBytesMax);
        complete(command, bytes.length);
    }

    /** Likewise, with a further call behind it. */
    public void completeWithTwoCalls(Command command, long call, long further, String request) {
        Session current = current();
        byte[] bytes = request.getBytes(StandardCharsets.UTF_8);
        long at = current.window(command.slot()) + FurtherCalls.after(bytes.length);
        FurtherCalls.put(at, further, 1, bytes.length, 0, WINDOW_BYTES);
        RawMemory.copyFrom(MemorySegment.ofArray(bytes), 0, FurtherCalls.message(at), bytes.length);
        RawMemory.putInt(current.slot(command.slot()) + SessionArea.FURTHER, 1);
        completeWithCall(command, call, request);
    }

    /** Closes the current session's connection without a message, like a killed node. */
    public void dropSession() {
        current().channel.shutdown();
    }

    private Session current() {
        return Objects.requireNonNull(session, "no session");
    }

    private void accept() {
        while (!closed) {
            try {
                serve(new SessionChannel(server.accept()));
            } catch (OsException | ProtocolException ended) {
                // The client closed the connection, or this node its socket.
            }
        }
    }

    private void serve(SessionChannel channel) throws ProtocolException {
        try (channel) {
            if (!(channel.receive() instanceof Hello)) {
                return;
            }
            FromNode refused = refusal;
            if (refused != null) {
                refusal = null;
                channel.send(refused);
                return;
            }
            try (Session opened = new Session(channel)) {
                session = opened;
                opened.welcome();
                while (channel.receive() instanceof Request request) {
                    handle(request);
                }
            }
        }
    }

    private void handle(Request request) {
        received.add(request);
        if (holdsRequest.test(request)) {
            heldRequests.add(request);
        } else {
            reply(answerTo(request));
        }
    }

    private Reply answerTo(Request request) {
        long id = request.requestId();
        return switch (request) {
            case Malloc m -> mapped(id, lastNumber.incrementAndGet(), m.spec().name());
            case Map m -> mapped(id, lastNumber.incrementAndGet(), m.name());
            case MapId m -> mapped(id, lastNumber.incrementAndGet(), null);
            case Prepare m -> mapped(id, lastNumber.incrementAndGet(), m.spec().name());
            case Describe m -> mapped(id, m.lh(), null);
            case Extents m -> SessionCodec.extentsPage(id, List.of(new Extent(NAME, 0, LMR_BYTES)), m.from());
            case Nodes m -> SessionCodec.nodesPage(id, List.of(new NodeInfo(NAME, 1, 1, LMR_BYTES, "local")), m.from());
            case RpcOpen m -> new RpcOpened(id, lastNumber.incrementAndGet());
            case ChannelOpen m ->
                new Failed(
                        id, LiteException.Code.RPC_FAILED.number(), RpcStatus.REFUSED, "the fake node has no channels");
            case RpcClose m -> {
                closedNumbers.add(m.id());
                yield new Done(id);
            }
            case RpcOrigin m -> new RpcOriginIs(id, "caller-node", "caller");
            case OpenLock m -> new LockOpened(id, lastNumber.incrementAndGet());
            case AcquireLock m -> new Acquired(id, lastNumber.incrementAndGet());
            case AwaitBarrier m -> new Passed(id, 3);
            default -> new Done(id);
        };
    }

    private static Mapped mapped(long id, long lh, @Nullable String name) {
        return new Mapped(id, lh, 7, name, LMR_BYTES, EnumSet.allOf(Permission.class));
    }

    @Override
    public void close() {
        closed = true;
        server.close();
        Session open = session;
        if (open != null) {
            open.channel.shutdown();
        }
        awaitEnd(acceptor);
    }

    private static void awaitEnd(Thread thread) {
        try {
            if (!thread.join(Duration.ofSeconds((long) (20 * TIME_SCALE)))) {
                throw new AssertionError("the thread %s did not end".formatted(thread.getName()));
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The data path of one session, served by one thread. */
    private final class Session implements AutoCloseable {
        private final SessionChannel channel;
        private final SharedMemory memory = SharedMemory.createMemfd("fake-node", AREA.bytes());
        private final Doorbell doorbell = new Doorbell(memory.address());
        private final Thread data =
                Thread.ofPlatform().daemon().name("fake-node-data").unstarted(this::serve);
        private volatile boolean stopping;

        Session(SessionChannel channel) {
            this.channel = channel;
        }

        void welcome() {
            data.start();
            channel.send(
                    new Welcome(SessionProtocol.VERSION, 1, NAME, "tester", AREA, REQUESTS_MAX), memory.descriptor());
        }

        private void serve() {
            while (!stopping) {
                for (long bits = doorbell.fetch(); bits != 0; bits &= bits - 1) {
                    serve(Long.numberOfTrailingZeros(bits));
                }
                if (doorbell.arm() && !stopping) {
                    doorbell.await(BLOCK_NS);
                }
                doorbell.disarm();
            }
        }

        long slot(int slot) {
            return memory.address() + SessionArea.slotOffset(slot);
        }

        long window(int slot) {
            return memory.address() + AREA.windowOffset(slot);
        }

        private void serve(int slot) {
            long at = slot(slot);
            Command command = new Command(
                    slot,
                    RawMemory.getIntAcquire(at + SessionArea.OP),
                    RawMemory.getLongAcquire(at + SessionArea.LH),
                    RawMemory.getLongAcquire(at + SessionArea.OFFSET),
                    RawMemory.getLongAcquire(at + SessionArea.LENGTH),
                    RawMemory.getLongAcquire(at + SessionArea.OPERAND0),
                    RawMemory.getLongAcquire(at + SessionArea.OPERAND1),
                    RawMemory.getLongAcquire(at + SessionArea.TIMEOUT_NS));
            LiteException.Code fail = failure;
            if (holdsCommand.test(command.op())) {
                if (command.op() == Op.REPLY_AND_RECEIVE) {
                    noteReply(command);
                }
                heldCommands.add(command);
            } else if (fail != null) {
                fail(slot, fail);
            } else if (command.op() == Op.CALL && closedNumbers.contains(command.lh())) {
                fail(slot, LiteException.Code.SESSION_LOST);
            } else {
                complete(slot, 0, execute(command));
            }
        }

        void fail(int slot, LiteException.Code code) {
            byte[] text = WireError.bytes(code.exception("failed by the test"), 100);
            RawMemory.copyFrom(MemorySegment.ofArray(text), 0, window(slot), text.length);
            complete(slot, code.number(), text.length);
        }

        private void noteReply(Command command) {
            byte[] text = new byte[(int) command.length()];
            RawMemory.copyTo(window(command.slot()), MemorySegment.ofArray(text), 0, text.length);
            replies.add("%s %d: %s"
                    .formatted(
                            command.op() == Op.FAIL ? "fail with %d".formatted((int) command.operand1()) : "reply",
                            command.operand0(),
                            new String(text, StandardCharsets.UTF_8)));
        }

        private long execute(Command command) {
            long at = command.offset();
            switch (command.op()) {
                case Op.READ -> RawMemory.copyFrom(lmr.asSlice(at), 0, window(command.slot()), command.length());
                case Op.WRITE -> RawMemory.copyTo(window(command.slot()), lmr, at, command.length());
                case Op.MEMSET -> lmr.asSlice(at, command.length()).fill((byte) command.operand0());
                case Op.FETCH_ADD -> {
                    long before = lmr.get(ValueLayout.JAVA_LONG, at);
                    lmr.set(ValueLayout.JAVA_LONG, at, before + command.operand0());
                    return before;
                }
                case Op.TEST_SET -> {
                    long before = lmr.get(ValueLayout.JAVA_LONG, at);
                    if (before == command.operand0()) {
                        lmr.set(ValueLayout.JAVA_LONG, at, command.operand1());
                    }
                    return before;
                }
                case Op.TRY_LOCK, Op.LOCK -> {
                    return lastNumber.incrementAndGet();
                }
                case Op.UNLOCK -> {
                    return 1;
                }
                case Op.CALL -> {
                    return command.length();
                }
                case Op.REPLY, Op.FAIL -> noteReply(command);
                default -> throw new AssertionError("unexpected " + Op.nameOf(command.op()));
            }
            return 0;
        }

        void complete(int slot, int status, long result) {
            RawMemory.putInt(slot(slot) + SessionArea.STATUS, status);
            RawMemory.putLong(slot(slot) + SessionArea.RESULT, result);
            boolean unused = new CompletionBell(memory.address()).done(slot);
        }

        @Override
        public void close() {
            stopping = true;
            doorbell.ring();
            awaitEnd(data);
            memory.close();
        }
    }
}
