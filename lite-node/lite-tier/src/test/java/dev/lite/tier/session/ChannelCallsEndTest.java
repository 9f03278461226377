package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What calls through channels tell, and do, at the end of a server, a session or a node. */
class ChannelCallsEndTest extends ClientChannelCases {
    ChannelCallsEndTest(Between between) {
        super(between);
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
        attach("n1").rpc().register("negate", 2, ClientChannelCases::negated);
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
