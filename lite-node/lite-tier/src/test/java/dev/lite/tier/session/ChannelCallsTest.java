package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.session.channel.ChannelTotals;
import dev.lite.session.protocol.SessionArea;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.CallContexts;
import dev.lite.tier.testing.CallFailures;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of applications with LITE's client, on two nodes, through channels. */
@ParameterizedClass
@EnumSource(names = {"ONE_HOST", "TCP"})
@HasChannels
class ChannelCallsTest {
    private static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(20));
    private static final Duration SHORT = Duration.ofMillis(30);

    private final Between between;

    @TempDir(factory = InDevShm.class)
    Path directory;

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final Map<String, SessionServer> servers = new HashMap<>();
    private TestCluster nodes;
    private Lite caller;

    ChannelCallsTest(Between between) {
        this.between = between;
    }

    @BeforeEach
    void start() {
        nodes = new TestCluster(directory, between.fabric(directory));
        opened.push(nodes);
        nodes.start("n0");
        nodes.start("n1");
        nodes.awaitConnections();
        for (String name : List.of("n0", "n1")) {
            SessionServer sessions = new SessionServer(SessionServerConfig.of(socket(name)), nodes.node(name));
            opened.push(sessions);
            servers.put(name, sessions);
            sessions.start();
        }
        caller = attach("n0");
    }

    private Path socket(String name) {
        return directory.resolve(name + ".sock");
    }

    private Lite attach(String name) {
        Lite lite = Lite.attach(AttachOptions.to(socket(name), "app"));
        opened.push(lite);
        return lite;
    }

    @AfterEach
    void stop() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private static byte[] number(long number) {
        byte[] bytes = new byte[Long.BYTES];
        MemorySegment.ofArray(bytes).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, number);
        return bytes;
    }

    private static long number(MemorySegment message) {
        return message.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    /** Calls until there is a channel, which both ends have mapped. */
    private void callUntilThereIsAChannel(RpcClient client, long before) {
        Waits.until("there is a channel", () -> {
            assertThat(number(MemorySegment.ofArray(client.call(number(7), GENEROUS))))
                    .isEqualTo(-7);
            return ChannelCases.mappedChannels() >= before + 2;
        });
    }

    /** An application whose session is not replaced. */
    private Lite attachOnce() {
        Lite lite = Lite.attach(AttachOptions.to(socket("n0"), "app").withReattach(false));
        opened.push(lite);
        return lite;
    }

    private static Object session(Lite attachedOnce) {
        return Inside.field(attachedOnce, "session", Object.class);
    }

    /** A client whose calls take a channel to the server on n1, of which no thread receives any more. */
    private static RpcClient clientWithChannel(Lite attachedOnce, RpcServer server) {
        Thread serving = thread(false, () -> serveUntilZero(server));
        RpcClient client = attachedOnce.rpc().bind("n1", "negate");
        // The client may use its channel a little later than it maps it.
        Object counts = Inside.field(session(attachedOnce), "counts", Object.class);
        ChannelTotals calls = Inside.field(counts, "channelCalls", ChannelTotals.class);
        Waits.until("a call takes a channel", () -> {
            byte[] unused = client.call(number(7), GENEROUS);
            return calls.sum().operations() > 0;
        });
        client.call(number(0), GENEROUS);
        Waits.join(serving);
        return client;
    }

    private static MemorySegment negated(RpcCall call) {
        return MemorySegment.ofArray(number(-number(call.request())));
    }

    /** Serves until the server is closed. */
    private static void serve(RpcServer server) {
        RpcCall call = null;
        while (true) {
            try {
                call = call == null ? server.receive(GENEROUS) : server.replyAndReceive(call, negated(call), GENEROUS);
            } catch (LiteTimeoutException e) {
                call = null;
            } catch (SessionLostException e) {
                return;
            }
        }
    }

    private static Thread thread(boolean virtual, Runnable task) {
        return virtual ? Thread.ofVirtual().start(task) : Thread.ofPlatform().start(task);
    }

    @ParameterizedTest
    @CsvSource({"n0, false", "n0, true", "n1, false", "n1, true"})
    void manyThreadsOfBothKindsGetTheirOwnReplies(String node, boolean handlers) {
        Lite at = attach(node);
        List<Thread> serving = new ArrayList<>();
        RpcServer server;
        if (handlers) {
            server = at.rpc().register("negate", 4, ChannelCallsTest::negated);
        } else {
            server = at.rpc().serve("negate");
            for (int i = 0; i < 4; i++) {
                serving.add(thread(i % 2 == 0, () -> serve(server)));
            }
        }
        RpcClient client = caller.rpc().bind(node, "negate");
        callUntilThereIsAChannel(client, 0);
        AtomicInteger right = new AtomicInteger();
        List<Thread> calling = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            int first = i * 1000;
            calling.add(thread(i % 2 == 0, () -> {
                for (int call = first; call < first + 1000; call++) {
                    byte[] reply = client.call(number(call), GENEROUS);
                    if (number(MemorySegment.ofArray(reply)) == -call) {
                        right.incrementAndGet();
                    }
                }
            }));
        }
        calling.forEach(Waits::join);
        assertThat(right).hasValue(12_000);
        server.close();
        serving.forEach(Waits::join);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }

    /** Else those that get one of the few places first keep it, and the calls of the others are received only through channels. */
    @Test
    void functionsWithChannelsTakeTurnsForTheirCallsThroughTheNodesIfOthersHoldThePlacesForReceives() {
        Lite at = attach("n1");
        List<RpcServer> functions = new ArrayList<>();
        List<Thread> serving = new ArrayList<>();
        for (int i = 0; i < SessionArea.SLOTS_MAX / 2; i++) {
            RpcServer server = at.rpc().serve("without" + i);
            functions.add(server);
            serving.add(Thread.ofPlatform().start(() -> serve(server)));
            assertIsServed(throughNodes("without" + i));
        }
        long before = ChannelCases.mappedChannels();
        for (int i = 0; i < 16; i++) {
            RpcServer server = at.rpc().serve("with" + i);
            functions.add(server);
            for (int thread = 0; thread < 2; thread++) {
                serving.add(Thread.ofPlatform().start(() -> serve(server)));
            }
            callUntilThereIsAChannel(caller.rpc().bind("n1", "with" + i), before + 2L * i);
        }
        for (int i = 0; i < 16; i++) {
            assertIsServed(throughNodes("with" + i));
        }
        functions.forEach(RpcServer::close);
        serving.forEach(Waits::join);
    }

    private RpcClient throughNodes(String function) {
        return caller.rpc().bind("n1", function).withPriority(Priority.LOW);
    }

    private static void assertIsServed(RpcClient client) {
        assertThat(number(MemorySegment.ofArray(client.call(number(7), GENEROUS))))
                .isEqualTo(-7);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void anApplicationServesMoreFunctionsThanItsSessionHasSlots(String node) {
        Lite at = attach(node);
        LmrHandle word = at.memory().malloc(LmrSpec.of(Long.BYTES));
        List<RpcClient> clients = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            RpcServer unused = at.rpc().register("negate" + i, 2, ChannelCallsTest::negated);
            clients.add(caller.rpc().bind(node, "negate" + i));
        }
        for (int round = 1; round <= 3; round++) {
            for (RpcClient client : clients) {
                assertThat(number(MemorySegment.ofArray(client.call(number(7), GENEROUS))))
                        .isEqualTo(-7);
            }
            word.putLong(0, round);
            assertThat(word.getLong(0)).isEqualTo(round);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aContextGoesThroughAChannelToo(String node) {
        CallContexts contexts = new CallContexts(caller, attach(node));
        RpcClient client = contexts.serve();
        Waits.until("there is a channel", () -> {
            contexts.check(client);
            return ChannelCases.mappedChannels() == 2;
        });
        contexts.check(client);
        assertThat(ChannelCases.mappedChannels()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void everyFailureThroughAChannelHasItsStatus(String node) {
        CallFailures failures = new CallFailures(caller, attach(node));
        RpcClient client = failures.serve();
        Waits.until("there is a channel", () -> {
            failures.checkHandler(client);
            return ChannelCases.mappedChannels() == 2;
        });
        failures.checkHandler(client);
    }

    @Test
    void callsThroughTheNodesReachAServerThatHasChannels() {
        Lite at = attach("n1");
        RpcServer server = at.rpc().serve("negate");
        List<Thread> serving = List.of(thread(false, () -> serve(server)), thread(true, () -> serve(server)));
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        // An embedded application has no channel.
        RpcClient throughNodes = nodes.node("n0").attach("embedded").rpc().bind("n1", "negate");
        AtomicInteger right = new AtomicInteger();
        List<Thread> calling = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            RpcClient its = i % 2 == 0 ? client : throughNodes;
            calling.add(thread(false, () -> {
                for (int call = 0; call < 500; call++) {
                    if (number(MemorySegment.ofArray(its.call(number(call), GENEROUS))) == -call) {
                        right.incrementAndGet();
                    }
                    if (call % 100 == 0) {
                        Waits.pass(SHORT); // all threads of the server fall asleep
                    }
                }
            }));
        }
        calling.forEach(Waits::join);
        assertThat(right).hasValue(2000);
        server.close();
        serving.forEach(Waits::join);
    }

    @Test
    void aReplyThroughTheNodesIsSentAlsoIfTheLastChannelHasEndedMeanwhile() {
        RpcServer server = attach("n1").rpc().serve("negate");
        Lite leaving = attach("n0");
        Thread serving = thread(false, () -> serveUntilZero(server));
        RpcClient client = leaving.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        client.call(number(0), GENEROUS);
        Waits.join(serving);
        CompletableFuture<byte[]> throughNodes =
                nodes.node("n0").attach("embedded").rpc().bind("n1", "negate").callAsync(number(5), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        leaving.close();
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        assertThatThrownBy(() -> server.replyAndReceive(call, negated(call), SHORT))
                .isInstanceOf(LiteTimeoutException.class);
        assertThat(number(MemorySegment.ofArray(throughNodes.join()))).isEqualTo(-5);
    }

    @Test
    void aCallThatCameBesideTheChannelsIsReceivedNextAlsoIfTheLastChannelHasEndedMeanwhile() {
        RpcServer server = attach("n1").rpc().serve("negate");
        Lite leaving = attach("n0");
        Thread serving = thread(false, () -> serveUntilZero(server));
        callUntilThereIsAChannel(leaving.rpc().bind("n1", "negate"), 0);
        leaving.rpc().bind("n1", "negate").call(number(0), GENEROUS);
        Waits.join(serving);
        RpcClient throughNodes = nodes.node("n0").attach("embedded").rpc().bind("n1", "negate");
        CompletableFuture<byte[]> first = throughNodes.callAsync(number(5), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        CompletableFuture<byte[]> second = throughNodes.callAsync(number(6), GENEROUS);
        Waits.until("the node has passed both calls to the application", () -> callsReceivedAt("n1") == 2);
        leaving.close();
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);

        RpcCall next = server.replyAndReceive(call, negated(call), GENEROUS);

        assertThat(number(next.request())).isEqualTo(6);
        next.reply(negated(next));
        assertThat(number(MemorySegment.ofArray(first.join()))).isEqualTo(-5);
        assertThat(number(MemorySegment.ofArray(second.join()))).isEqualTo(-6);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theEndOfTheServerFailsLaterCallsAndTheNextServerGetsAChannelToo(boolean wholeSession) {
        RpcClient client = caller.rpc().bind("n1", "negate");
        AtomicLong served = new AtomicLong();
        for (int round = 0; round < 3; round++) {
            Lite at = attach("n1");
            RpcServer server = at.rpc().register("negate", 4, call -> {
                served.incrementAndGet();
                return negated(call);
            });
            callUntilThereIsAChannel(client, 0);
            AtomicInteger replied = new AtomicInteger();
            ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
            List<Thread> calling = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                calling.add(thread(i % 2 == 0, () -> {
                    try {
                        while (true) {
                            assertThat(number(MemorySegment.ofArray(client.call(number(9), GENEROUS))))
                                    .isEqualTo(-9);
                            replied.incrementAndGet();
                        }
                    } catch (Throwable e) {
                        failures.add(e);
                    }
                }));
            }
            Waits.until("calls are answered", () -> replied.get() > 100);
            if (wholeSession) {
                at.close();
            } else {
                server.close();
            }
            calling.forEach(Waits::join);
            assertThat(failures)
                    .hasSize(4)
                    .allSatisfy(failure -> assertThat(failure).isInstanceOf(RpcFailedException.class));
            if (!wholeSession) { // calls under way are answered; later ones find no server
                assertThat(failures)
                        .allSatisfy(failure -> assertThat(failure).message().doesNotContain("may have been done"));
            }
            assertThat(served.get()).isGreaterThanOrEqualTo(replied.get());
            Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
            at.close();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallThatNoThreadOfTheServerHasTakenIsRefusedAtItsEnd(boolean wholeSession) {
        Lite at = attach("n1");
        RpcServer server = at.rpc().serve("negate");
        Thread serving = thread(false, () -> serveUntilZero(server));
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        client.call(number(0), GENEROUS);
        Waits.join(serving);
        CompletableFuture<byte[]> throughNodes =
                nodes.node("n0").attach("embedded").rpc().bind("n1", "negate").callAsync(number(5), GENEROUS);
        Waits.until("the node has passed the call to the application", () -> callsReceivedAt("n1") == 1);
        if (wholeSession) {
            at.close();
        } else {
            server.close();
        }
        assertThatThrownBy(throughNodes::join)
                .cause()
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED));
    }

    @Test
    void aReceivedCallCanBeAnsweredAfterItsServerWasClosedAndOneThatWasNotReceivedIsRefused() {
        RpcServer server = attach("n1").rpc().serve("negate");
        RpcClient client = clientWithChannel(attachOnce(), server);
        CompletableFuture<byte[]> first = client.callAsync(number(5), GENEROUS);
        RpcCall received = server.receive(GENEROUS);
        CompletableFuture<byte[]> second = client.callAsync(number(6), GENEROUS);
        server.close();
        assertThatThrownBy(second::join)
                .cause()
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED))
                .hasMessageContaining("nobody serves the function \"negate\" at node n1");
        received.reply(negated(received));
        assertThat(number(MemorySegment.ofArray(first.join()))).isEqualTo(-5);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }

    @Test
    void theStatisticsCountEveryCallAndAnswerAlsoOfAChannelThatHasEnded() {
        Lite serving = attach("n1");
        RpcServer server = serving.rpc().register("negate", 4, ChannelCallsTest::negated);
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        for (int i = 0; i < 10; i++) {
            byte[] unused = client.call(number(i), GENEROUS);
        }
        client.callAsync(number(10), GENEROUS).join();
        long calls = operations(caller, LiteStatistics.Kind.CALL);
        assertThat(calls).isGreaterThan(11);
        assertThat(operations(serving, LiteStatistics.Kind.ANSWER)).isEqualTo(calls);
        server.close();
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        assertThat(operations(caller, LiteStatistics.Kind.CALL)).isEqualTo(calls);
        assertThat(operations(serving, LiteStatistics.Kind.ANSWER)).isEqualTo(calls);
    }

    private static long operations(Lite lite, LiteStatistics.Kind kind) {
        LiteStatistics.Count count = lite.statistics().operations().getOrDefault(kind, new LiteStatistics.Count(0, 0));
        assertThat(count.bytes()).isEqualTo(count.operations() * Long.BYTES);
        return count.operations();
    }

    /** A closed server waits for 5 s until its callers have closed their channels. */
    @Test
    void aReceivedCallCanBeAnsweredUntilItsDeadlineHoweverLongAgoItsServerWasClosed() {
        RpcServer plain = attach("n1").rpc().serve("negate");
        RpcClient client = clientWithChannel(attachOnce(), plain);
        CompletableFuture<byte[]> first = client.callAsync(number(5), GENEROUS);
        RpcCall received = plain.receive(GENEROUS);
        CompletableFuture<byte[]> second = client.withPriority(Priority.LOW).callAsync(number(6), GENEROUS);
        RpcCall throughNodes = plain.receive(GENEROUS);
        CountDownLatch handling = new CountDownLatch(1);
        CountDownLatch answer = new CountDownLatch(1);
        RpcServer handled = attach("n1").rpc().register("handled", 1, call -> {
            if (number(call.request()) == 8) {
                handling.countDown();
                Waits.await(answer);
            }
            return negated(call);
        });
        RpcClient ofHandler = attachOnce().rpc().bind("n1", "handled");
        callUntilThereIsAChannel(ofHandler, ChannelCases.mappedChannels());
        CompletableFuture<byte[]> third = ofHandler.callAsync(number(8), GENEROUS);
        Waits.await(handling);

        plain.close();
        handled.close();
        Waits.pass(Duration.ofMillis(6_500));
        received.reply(negated(received));
        throughNodes.reply(negated(throughNodes));
        answer.countDown();

        assertThat(number(MemorySegment.ofArray(first.join()))).isEqualTo(-5);
        assertThat(number(MemorySegment.ofArray(second.join()))).isEqualTo(-6);
        assertThat(number(MemorySegment.ofArray(third.join()))).isEqualTo(-8);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }

    @Test
    void theChannelOfAClosedServerEndsWhenNobodyWaitsForTheCallsThatItNeverAnswers() {
        RpcServer server = attach("n1").rpc().serve("negate");
        RpcClient client = clientWithChannel(attachOnce(), server);
        CompletableFuture<byte[]> call = client.callAsync(number(5), Waits.seconds(0.5)); // received within that
        RpcCall received = server.receive(GENEROUS);
        server.close();
        assertThatThrownBy(call::join).cause().isInstanceOf(LiteTimeoutException.class);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        assertThatThrownBy(() -> received.reply(negated(received)))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("the server was closed, and its caller does not wait any more");
    }

    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void aCallUnderWayTellsWhetherTheServersNodeWasLostOrTheServer(boolean lostNode, boolean started) {
        Lite at = attach("n1");
        RpcServer server = at.rpc().serve("negate");
        Lite plain = attachOnce();
        RpcClient client = clientWithChannel(plain, server);
        CompletableFuture<byte[]> call = started
                ? client.callAsync(number(5), GENEROUS)
                : CompletableFuture.supplyAsync(() -> client.call(number(5), GENEROUS), Thread::startVirtualThread);
        RpcCall unused = server.receive(GENEROUS);
        if (lostNode) {
            nodes.stop("n1");
            assertThatThrownBy(call::join)
                    .cause()
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("call of \"negate\" at node n1")
                    .hasMessageContaining("may have been done");
        } else {
            at.close();
            assertThatThrownBy(call::join)
                    .cause()
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.status()).isEqualTo(RpcStatus.CANCELLED));
        }
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }

    @Test
    void anInterruptedThreadLearnsOfTheLossOfTheServersNodeToo() {
        RpcServer server = attach("n1").rpc().serve("negate");
        RpcClient client = clientWithChannel(attachOnce(), server);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        AtomicBoolean interrupted = new AtomicBoolean();
        Thread calling = thread(false, () -> {
            Thread.currentThread().interrupt();
            thrown.set(catchThrowable(() -> client.call(number(5), GENEROUS)));
            interrupted.set(Thread.currentThread().isInterrupted());
        });
        RpcCall unused = server.receive(GENEROUS);
        nodes.stop("n1");
        Waits.join(calling);
        assertThat(thrown.get()).isInstanceOf(NodeUnreachableException.class);
        assertThat(interrupted).isTrue();
    }

    @Test
    void aCallEndsAtItsDeadlineAlsoIfTheNodeDoesNotTellWhichNodesAreConnected() {
        Lite at = attach("n1");
        RpcServer server = at.rpc().serve("negate");
        Lite plain = attachOnce();
        RpcClient client = clientWithChannel(plain, server);
        Duration deadline = Waits.scaled(Duration.ofSeconds(1));
        Object requests = Inside.field(session(plain), "requests", Object.class);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread calling = thread(false, () -> thrown.set(catchThrowable(() -> client.call(number(5), deadline))));
        RpcCall unused = server.receive(GENEROUS);
        Semaphore permits = Inside.field(requests, "permits", Semaphore.class);
        int drained = permits.drainPermits(); // as if as many requests of the session were under way
        long beganNs = System.nanoTime();
        at.close();
        Waits.join(calling);
        permits.release(drained);
        assertThat(Duration.ofNanos(System.nanoTime() - beganNs)).isLessThan(deadline.multipliedBy(2));
        assertThat(thrown.get())
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.CANCELLED));
    }

    private static void serveUntilZero(RpcServer server) {
        RpcCall call = server.receive(GENEROUS);
        while (number(call.request()) != 0) {
            call = server.replyAndReceive(call, negated(call), GENEROUS);
        }
        call.reply(negated(call));
    }

    /** How many calls the applications of a node have received and not answered. */
    private int callsReceivedAt(String node) {
        Map<?, ?> connections = Inside.field(Objects.requireNonNull(servers.get(node)), "connections", Map.class);
        return connections.keySet().stream()
                .mapToInt(session -> {
                    SessionWorker worker = Inside.field(session, "worker", SessionWorker.class);
                    ReceivedCalls calls =
                            Inside.field(worker, "rpc", RpcCommands.class).received();
                    return Inside.field(calls, "calls", Map.class).size();
                })
                .sum();
    }

    @Test
    void aSecondServerOfTheFunctionGetsCallsToo() {
        RpcClient client = caller.rpc().bind("n1", "negate");
        AtomicInteger first = new AtomicInteger();
        AtomicInteger second = new AtomicInteger();
        attach("n1").rpc().register("negate", 1, call -> {
            if (number(call.request()) == 2) {
                Waits.pass(SHORT);
            }
            first.incrementAndGet();
            return negated(call);
        });
        callUntilThereIsAChannel(client, 0);
        CompletableFuture<byte[]> underWay = client.callAsync(number(2), GENEROUS);
        Lite other = attach("n1");
        RpcServer its = other.rpc().register("negate", 1, call -> {
            second.incrementAndGet();
            return negated(call);
        });
        Waits.until("both have calls", () -> {
            client.call(number(1), GENEROUS);
            return second.get() > 10;
        });
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        its.close();
        callUntilThereIsAChannel(client, 0);
        assertThat(first.get()).isPositive();
        assertThat(number(MemorySegment.ofArray(underWay.join()))).isEqualTo(-2);
    }

    @Test
    void callsPassTheNodesAsLongAsTheirPrincipalGetsNoChannels() {
        attach("n1").rpc().register("negate", 2, ChannelCallsTest::negated);
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        NodeChannels channels = nodes.node("n0").channels();
        channels.passNodes((principal, betweenHosts) -> true);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        for (int call = 1; call <= 100; call++) {
            assertThat(number(MemorySegment.ofArray(client.call(number(call), GENEROUS))))
                    .isEqualTo(-call);
        }
        assertThat(ChannelCases.mappedChannels()).isZero();
        channels.passNodes((principal, betweenHosts) -> false);
        callUntilThereIsAChannel(client, 0);
    }

    @Test
    void callsUnderWayEndWellWhenNewOnesMustPassTheNodes() {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        attach("n1").rpc().register("negate", 2, call -> {
            if (number(call.request()) == 2) {
                begun.countDown();
                Waits.await(mayEnd);
            }
            return negated(call);
        });
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        CompletableFuture<byte[]> underWay = client.callAsync(number(2), GENEROUS);
        Waits.await(begun);
        nodes.node("n0").channels().passNodes((principal, betweenHosts) -> true);
        for (int call = 3; call <= 20; call++) {
            assertThat(number(MemorySegment.ofArray(client.call(number(call), GENEROUS))))
                    .isEqualTo(-call);
        }
        mayEnd.countDown();
        assertThat(number(MemorySegment.ofArray(underWay.join()))).isEqualTo(-2);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }

    @Test
    void underAPolicyCallsToOtherHostsPassTheNodes() {
        attach("n1").rpc().register("negate", 2, ChannelCallsTest::negated);
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        LiteNode node = nodes.node("n0");
        QosPolicy unused = node.qos().set(QosPolicy.OFF.withMode(QosPolicy.Mode.SW_PRI));
        if (between == Between.ONE_HOST) {
            client.call(number(1), GENEROUS);
            assertThat(ChannelCases.mappedChannels()).isEqualTo(2);
            return;
        }
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        for (int call = 1; call <= 100; call++) {
            assertThat(number(MemorySegment.ofArray(client.call(number(call), GENEROUS))))
                    .isEqualTo(-call);
        }
        assertThat(ChannelCases.mappedChannels()).isZero();
        QosPolicy unusedToo = node.qos().set(QosPolicy.OFF);
        callUntilThereIsAChannel(client, 0);
    }

    @Test
    void aReceiveEndsAtItsDeadlineAndACallAtItsOwn() {
        RpcServer server = attach("n1").rpc().serve("negate");
        RpcClient client = caller.rpc().bind("n1", "negate");
        Thread serving = thread(false, () -> {
            for (int i = 0; i < 3; i++) {
                RpcCall call = server.receive(GENEROUS);
                call.reply(negated(call));
            }
        });
        for (int i = 0; i < 3; i++) {
            client.call(number(1), GENEROUS);
        }
        Waits.join(serving);
        // Until calls go through a channel, and then some more. The caller maps a channel a moment before it uses it.
        Waits.until("calls go through a channel", () -> {
            LiteTimeoutException late =
                    catchThrowableOfType(LiteTimeoutException.class, () -> client.call(number(2), SHORT));
            assertThat(late).isNotNull();
            return ChannelCases.mappedChannels() == 2
                    && String.valueOf(late.getMessage()).contains("call of \"negate\" at node n1");
        });
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> client.call(number(3), SHORT))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("call of \"negate\" at node n1");
        }
        CompletableFuture<byte[]> last = client.callAsync(number(4), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        while (number(call.request()) != 4) { // a call that was queued at the node
            call = server.replyAndReceive(call, negated(call), GENEROUS);
        }
        assertThatThrownBy(() -> {
                    while (true) {
                        server.receive(SHORT).fail("late"); // a call that was queued at the node
                    }
                })
                .isInstanceOf(LiteTimeoutException.class);
        call.reply(negated(call));
        assertThat(number(MemorySegment.ofArray(last.join()))).isEqualTo(-4);
        server.close();
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(SessionLostException.class);
    }

    @Test
    void aCallThroughAChannelBehavesLikeOneThroughTheNodes() {
        RpcServer server = attach("n1").rpc().serve("negate");
        Thread first = thread(true, () -> serveOne(server));
        RpcClient client = caller.rpc().bind("n1", "negate");
        client.call(number(1), GENEROUS);
        Waits.join(first);
        Waits.until("there is a channel", () -> ChannelCases.mappedChannels() == 2);
        CompletableFuture<byte[]> failing = client.callAsync(number(2), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        assertThat(call.callerNode()).isEqualTo("n0");
        assertThat(call.callerPrincipal()).isNotBlank();
        call.fail("no such order");
        assertThatThrownBy(failing::join)
                .cause()
                .isInstanceOf(RpcFailedException.class)
                .hasMessageContaining("no such order");
        assertThatThrownBy(() -> call.reply(number(1))).isInstanceOf(IllegalStateException.class);

        MemorySegment small = MemorySegment.ofArray(new byte[7]);
        CompletableFuture<Long> tooLong =
                CompletableFuture.supplyAsync(() -> client.call(MemorySegment.ofArray(number(3)), small, GENEROUS));
        RpcCall next = server.receive(GENEROUS);
        assertThatThrownBy(() -> next.reply(number(3)))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("at most 7");
        next.reply(new byte[] {1});
        assertThat(tooLong.join()).isEqualTo(1);

        for (int length : new int[] {0, 1, 4096, 65_536}) {
            byte[] request = new byte[length];
            CompletableFuture<byte[]> echo = client.callAsync(request, GENEROUS);
            RpcCall received = server.receive(GENEROUS);
            received.reply(received.request());
            assertThat(echo.join()).isEqualTo(request);
        }
        assertThatThrownBy(() -> client.call(new byte[65_537], GENEROUS)).isInstanceOf(LimitExceededException.class);
    }

    private static void serveOne(RpcServer server) {
        RpcCall call = server.receive(GENEROUS);
        call.reply(negated(call));
    }

    @Test
    void theEndOfTheCallersSessionEndsItsCallsAndTheServerServesOthers() {
        RpcServer server = attach("n1").rpc().serve("negate");
        Thread serving = thread(false, () -> serve(server));
        Lite leaving = attach("n0");
        callUntilThereIsAChannel(leaving.rpc().bind("n1", "negate"), 0);
        server.close();
        Waits.join(serving);
        RpcServer slow = attach("n1").rpc().serve("slow");
        RpcClient client = leaving.rpc().bind("n1", "slow");
        CompletableFuture<byte[]> call = client.callAsync(number(1), GENEROUS);
        slow.receive(GENEROUS);
        leaving.close();
        assertThatThrownBy(call::join).cause().isInstanceOf(SessionLostException.class);
        CompletableFuture<byte[]> other = caller.rpc().bind("n1", "slow").callAsync(number(2), GENEROUS);
        RpcCall received = slow.receive(GENEROUS);
        received.reply(negated(received));
        assertThat(number(MemorySegment.ofArray(other.join()))).isEqualTo(-2);
    }

    @Test
    void theLossOfTheNodesConnectionEndsTheChannelAndLaterCallsGetAnother() {
        attach("n1").rpc().register("negate", 2, ChannelCallsTest::negated);
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        nodes.node("n1").close();
        Waits.until("the call fails", () -> {
            try {
                client.call(number(1), SHORT);
                return false;
            } catch (LiteException e) {
                return true;
            }
        });
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }
}
