package dev.lite.tier.session;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteException;
import dev.lite.api.LtBarrier;
import dev.lite.api.NodeInfo;
import dev.lite.os.SocketWaits;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.RequestCounts;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.AwaitBarrier;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.NodesPage;
import dev.lite.session.protocol.SessionMessage.Passed;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.testing.Inside;
import dev.lite.testing.Undescribed;
import dev.lite.testing.Waits;
import dev.lite.tier.FairShares;
import dev.lite.tier.TierSession;
import dev.lite.tier.TierSync;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The control requests of one session, over a socket whose other end the test reads, or does not read. */
class ControlRequestHandlerTest {
    private static final int REQUESTS_MAX = 4;
    private static final Duration LONG = Waits.scaled(Duration.ofSeconds(20));

    /** For how long a reply waits for an application that does not read. */
    private static final Duration SEND_MAX = Duration.ofSeconds(1);

    @TempDir
    Path directory;

    private final AtomicInteger executed = new AtomicInteger();
    private final AtomicReference<@Nullable String> dropped = new AtomicReference<>();
    /** How long opening a barrier takes at least, and how long it took. */
    private volatile Duration opening = Duration.ZERO;

    private final AtomicReference<@Nullable Duration> opened = new AtomicReference<>();
    /** How long a party was to wait at a barrier. */
    private final AtomicReference<@Nullable Duration> awaited = new AtomicReference<>();

    /** Whether the list of nodes fails, and nobody can say why. */
    private volatile boolean undescribed;

    private UnixServerSocket listening;
    private SocketWaits waits;
    private SessionChannel node;
    private SessionChannel application;
    private FakeBackend backend;
    private ControlRequestHandler handler;

    @BeforeEach
    void start() {
        Path path = directory.resolve("socket");
        listening = UnixServerSocket.bind(path, 0600, 1);
        application = new SessionChannel(UnixSocket.connect(path));
        application.setTimeout(LONG.toNanos(), LONG.toNanos());
        waits = new SocketWaits("test-control", (what, why) -> {});
        node = new SessionChannel(listening.accept(), waits);
        node.setTimeout(0, SEND_MAX.toNanos());
        backend = new FakeBackend();
        TierSession tier = counted(backend.open("app", "test"));
        SessionLocks locks = new SessionLocks(tier.sync());
        RepeatedLines lines = new RepeatedLines(10, Duration.ofSeconds(10));
        RpcCommands rpc = new RpcCommands("test", tier, locks, Runnable::run, lines, new FairShares(8).share("app"));
        handler = new ControlRequestHandler(
                "test",
                tier,
                new HandleTable(16),
                rpc,
                new ChannelRequests("test", null, "app", rpc, node, false, this::drop),
                locks,
                SessionServerConfig.of(path).withLimits(1, 16, REQUESTS_MAX),
                node,
                lines,
                new RequestCounts(),
                this::drop,
                this::drop);
    }

    /** Counts how often the list of nodes is asked for. Opening a barrier takes {@link #opening}, and waiting at it no time. */
    private TierSession counted(TierSession tier) {
        TierSync sync = withBarriers(tier.sync());
        return (TierSession) Proxy.newProxyInstance(
                TierSession.class.getClassLoader(), new Class<?>[] {TierSession.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("nodes")) {
                        executed.incrementAndGet();
                        if (undescribed) {
                            throw new Undescribed();
                        }
                        return List.of(new NodeInfo("n", 1, 1, 1, "local"));
                    }
                    return method.getName().equals("sync") ? sync : method.invoke(tier, arguments);
                });
    }

    private TierSync withBarriers(TierSync sync) {
        LtBarrier barrier = (LtBarrier) Proxy.newProxyInstance(
                LtBarrier.class.getClassLoader(), new Class<?>[] {LtBarrier.class}, (proxy, method, arguments) -> {
                    awaited.set((Duration) arguments[0]);
                    return 5L;
                });
        return (TierSync) Proxy.newProxyInstance(
                TierSync.class.getClassLoader(), new Class<?>[] {TierSync.class}, (proxy, method, arguments) -> {
                    if (!method.getName().equals("barrier")) {
                        return method.invoke(sync, arguments);
                    }
                    long beganNs = System.nanoTime();
                    Waits.until("the barrier is open", () -> System.nanoTime() - beganNs >= opening.toNanos());
                    opened.set(Duration.ofNanos(System.nanoTime() - beganNs));
                    return barrier;
                });
    }

    private void drop(String reason) {
        dropped.compareAndSet(null, reason);
        node.shutdown();
    }

    @AfterEach
    void stop() throws IOException {
        application.close();
        node.close();
        waits.close();
        listening.close();
        backend.close();
    }

    @Test
    void requestsThatAreNotAnsweredAreBoundedWhenTheApplicationReadsNoReply() throws ProtocolException {
        for (int sent = 1; sent <= 5_000; sent++) {
            int now = sent;
            // A request above the limit would be refused, also when its predecessors only wait for a processor.
            Waits.until("a request may be sent", () -> handler.underWay() < REQUESTS_MAX || dropped.get() != null);
            if (dropped.get() != null) {
                break;
            }
            handler.handle(new Nodes(sent, 0));
            Waits.until("the request is executed", () -> executed.get() == now || dropped.get() != null);
        }
        Waits.until("the session is dropped", () -> dropped.get() != null);
        assertThat(dropped.get()).isEqualTo("the application does not read its control channel");
        assertThat(handler.drain(System.nanoTime() + LONG.toNanos())).isTrue();
        int answered = 0;
        SessionMessage reply;
        while ((reply = application.receive()) != null) {
            answered += reply instanceof NodesPage ? 1 : 0;
        }
        assertThat(answered).isPositive();
        assertThat(executed.get() - answered).isBetween(1, REQUESTS_MAX + 1);
    }

    /** Else the application waits for its deadline, and does not know that it has a lock, for example. */
    @Test
    void aReplyThatCannotBeSentEndsTheSession() {
        Arena closed = Arena.ofShared();
        Inside.set(node, "outgoing", closed.allocate(SessionProtocol.MESSAGE_BYTES_MAX));
        closed.close();
        handler.handle(new Nodes(1, 0));
        Waits.until("the session ends", () -> dropped.get() != null);
        assertThat(dropped.get()).startsWith("the node's reply cannot be sent: ");
    }

    /** Otherwise the session ends for it, and its end waits for a request that does not run. */
    @Test
    void aRequestForWhoseThreadThereIsNoMemoryIsAnswered() throws ProtocolException {
        Inside.set(handler, "threads", new AbstractSet<Thread>() {
            @Override
            public boolean add(Thread thread) {
                throw new OutOfMemoryError("no memory for an element, which the test expects");
            }

            @Override
            public Iterator<Thread> iterator() {
                return Collections.emptyIterator();
            }

            @Override
            public int size() {
                return 0;
            }
        });
        handler.handle(new Nodes(1, 0));
        isAnswered();
        assertThat(executed).hasValue(0);
    }

    @Test
    void aRequestWhoseFailureCannotBeDescribedIsAnswered() throws ProtocolException {
        undescribed = true;
        handler.handle(new Nodes(1, 0));
        isAnswered();
    }

    private void isAnswered() throws ProtocolException {
        assertThat(application.receive()).isInstanceOfSatisfying(Failed.class, failed -> {
            assertThat(failed.requestId()).isEqualTo(1);
            assertThat(failed.code()).isEqualTo(LiteException.Code.RPC_FAILED.number());
        });
        assertThat(handler.underWay()).isZero();
        assertThat(handler.drain(System.nanoTime() + LONG.toNanos())).isTrue();
    }

    @Test
    void anApplicationThatSendsARequestOnEachReplyIsNeverRefused() throws ProtocolException {
        int all = 2_000;
        int sent = 0;
        for (; sent < REQUESTS_MAX; sent++) {
            handler.handle(new Nodes(sent, 0));
        }
        for (int replies = 0; replies < all; replies++) {
            assertThat(application.receive()).isInstanceOf(NodesPage.class);
            if (sent < all) {
                handler.handle(new Nodes(sent++, 0));
            }
        }
        assertThat(executed).hasValue(all);
        assertThat(dropped).hasNullValue();
    }

    /** Otherwise a party that has given up counts for those that come later. */
    @Test
    void aPartyWaitsAtABarrierOnlyForTheTimeThatOpeningTheBarrierLeft() throws ProtocolException {
        opening = Duration.ofMillis(20);
        handler.handle(new AwaitBarrier(1, LONG.toNanos(), "b", 2));
        assertThat(application.receive()).isEqualTo(new Passed(1, 5));
        assertThat(awaited.get()).isPositive().isLessThanOrEqualTo(LONG.minus(requireNonNull(opened.get())));
    }

    @Test
    void aPartyDoesNotArriveAtABarrierWhoseOpeningTookAllItsTime() throws ProtocolException {
        opening = Duration.ofMillis(20);
        handler.handle(new AwaitBarrier(1, opening.toNanos(), "b", 2));
        assertThat(application.receive())
                .isInstanceOfSatisfying(
                        Failed.class,
                        failed -> assertThat(failed.code()).isEqualTo(LiteException.Code.TIMEOUT.number()));
        assertThat(awaited).hasNullValue();
    }
}
