package dev.lite.fabric.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Undescribed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The life cycle of connections, with endpoints that have outstanding posts but no transport. */
class ConnectionsTest {
    /** An object with two references. */
    private static final long REASON_BYTES = 32;

    private final List<String> calls = new ArrayList<>();
    private final List<String> discarded = new ArrayList<>();
    private final Recorder handler = new Recorder();
    private final FakeDriver driver = new FakeDriver();
    private final Connections<FakeEndpoint, FakeLink> connections =
            new Connections<>("fake", "alpha", new ConnectionLimits(2, 1_000), handler, driver);
    private final Connections<FakeEndpoint, FakeLink> noThreads =
            new Connections<>("fake", "alpha", new ConnectionLimits(2, 1_000), handler, driver, thread -> {
                throw new InternalError("unable to create native thread");
            });

    private record FakeLink(String name) implements DriverLink {
        @Override
        public byte[] hello() {
            return new byte[] {1};
        }

        @Override
        public long remoteBytes() {
            return 4096;
        }
    }

    private static final class FakeEndpoint extends UnpostableEndpoint<FakeLink> {
        int outstanding;
        int cuts;
        boolean cutFails;
        boolean endFails;

        FakeEndpoint(boolean accepted) {
            super(accepted);
        }

        @Override
        protected void cut(Deadline deadline) {
            cuts++;
            if (cutFails) {
                throw new IllegalStateException("the device failed");
            }
        }

        @Override
        protected void onEnd() {
            if (endFails) {
                throw new OutOfMemoryError("no memory for what is to end, on purpose");
            }
        }

        @Override
        protected int flush(FabricHandler handler, int limit) {
            int failed = 0;
            while (failed < limit && outstanding > 0) {
                outstanding--;
                failed++;
                handler.failed(this, outstanding, FabricError.FLUSHED);
            }
            return failed;
        }
    }

    private final class FakeDriver implements Connections.Driver<FakeEndpoint, FakeLink>, Connector<FakeEndpoint> {
        final CountDownLatch connecting = new CountDownLatch(1);
        boolean flushLater;
        boolean startFails;
        boolean stopFails;
        int stops;
        boolean endFails;
        boolean finishFails;

        @Override
        public FakeEndpoint create(boolean accepted) {
            return new FakeEndpoint(accepted);
        }

        @Override
        public void start() {
            if (startFails) {
                throw new OutOfMemoryError("no memory for the thread that accepts peers, on purpose");
            }
        }

        @Override
        public void connect(FakeEndpoint endpoint, String address, Deadline deadline) {
            if (address.equals("nowhere")) {
                throw new HandshakeException("nobody listens there");
            }
            if (address.equals("defect")) {
                throw new AssertionError("not even an exception");
            }
            if (address.equals("undescribed")) {
                throw new Undescribed();
            }
        }

        @Override
        public void stop() {
            stops++;
            if (stopFails) {
                throw new UncheckedIOException(new IOException("the socket's file cannot be deleted"));
            }
        }

        @Override
        public void opened(FakeEndpoint endpoint, FakeLink link) {
            if (link.name().equals("defect")) {
                throw new IllegalStateException("no descriptor can be watched any more");
            }
            if (link.name().equals("undescribed")) {
                throw new Undescribed();
            }
            calls.add("opened");
        }

        @Override
        public boolean ended(FakeEndpoint endpoint) {
            if (endFails) {
                throw new OutOfMemoryError("no memory for the list of those that are left, on purpose");
            }
            return !flushLater;
        }

        @Override
        public void finished(FakeEndpoint endpoint) {
            calls.add("finished");
            if (finishFails) {
                throw new OutOfMemoryError("no memory for the list of those that are left, on purpose");
            }
        }

        @Override
        public void discard(FakeLink link) {
            discarded.add(link.name());
        }

        @Override
        public void wake() {
            connecting.countDown();
        }
    }

    private final class Recorder implements FabricHandler {
        long failsAt = -1;

        @Override
        public void completed(FabricEndpoint endpoint, long context) {
            calls.add("completed " + context);
        }

        @Override
        public void failed(FabricEndpoint endpoint, long context, FabricError error) {
            calls.add("failed " + context);
            if (context == failsAt) {
                throw new StackOverflowError("a defect of the handler");
            }
        }

        @Override
        public void immediate(FabricEndpoint endpoint, int immediate) {
            calls.add("immediate " + immediate);
        }

        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {
            calls.add(accepted ? "accepted" : "connected");
        }

        @Override
        public void disconnected(FabricEndpoint endpoint, String reason) {
            calls.add("disconnected: " + reason);
        }
    }

    private FakeEndpoint open() {
        FakeEndpoint endpoint = connections.accept();
        assertThat(connections.ready(endpoint, new FakeLink("link"))).isTrue();
        return endpoint;
    }

    @Test
    void theHandlerIsCalledForTheConnectionThenItsPostsThenItsEnd() {
        connections.start(driver);
        FakeEndpoint endpoint = open();
        endpoint.outstanding = 3;
        endpoint.lost("the peer is gone", FabricError.FLUSHED);

        assertThat(connections.hasWork()).isTrue();
        assertThat(connections.poll(2)).isEqualTo(2);
        assertThat(calls).containsExactly("opened", "accepted", "failed 2");
        assertThat(connections.poll(100)).isEqualTo(3);

        assertThat(calls)
                .containsExactly(
                        "opened",
                        "accepted",
                        "failed 2",
                        "failed 1",
                        "failed 0",
                        "finished",
                        "disconnected: the peer is gone");
        assertThat(connections.hasWork()).isFalse();
    }

    /** The polling thread logs such an error and continues, so the other posts must not wait for ever. */
    @Test
    void anErrorOfTheHandlerForOnePostLosesNoOther() {
        connections.start(driver);
        FakeEndpoint endpoint = open();
        endpoint.outstanding = 3;
        handler.failsAt = 1;
        endpoint.lost("the peer is gone", FabricError.FLUSHED);

        assertThatExceptionOfType(StackOverflowError.class).isThrownBy(() -> connections.poll(100));
        assertThat(connections.hasWork()).isTrue();
        assertThat(connections.poll(100)).isEqualTo(2);
        assertThat(calls).endsWith("failed 2", "failed 1", "failed 0", "finished", "disconnected: the peer is gone");
    }

    /** Else peers would keep connections that nobody polls. */
    @Test
    void aDriverThatCannotStopListeningEndsItsConnections() {
        connections.start(driver);
        FakeEndpoint endpoint = open();
        endpoint.outstanding = 1;
        assertThat(connections.poll(100)).isEqualTo(1);
        driver.stopFails = true;

        assertThat(connections.close()).isTrue();

        assertThat(endpoint.cuts).isOne();
        assertThat(calls).contains("failed 0", "finished").anyMatch(call -> call.startsWith("disconnected: "));
    }

    @Test
    void theHandlerHearsOfTheEndAndAPlaceIsFreeAlsoIfTheDriverFails() {
        connections.start(driver);
        FakeEndpoint endpoint = open();
        open();
        connections.poll(10);
        calls.clear();
        driver.finishFails = true;
        endpoint.lost("the peer is gone", FabricError.FLUSHED);

        assertThatThrownBy(() -> connections.poll(10)).isInstanceOf(OutOfMemoryError.class);

        assertThat(calls).containsExactly("finished", "disconnected: the peer is gone");
        assertThat(connections.accept()).isNotNull();
        driver.finishFails = false;
        assertThat(connections.poll(10)).isZero();
        assertThat(calls).hasSize(2);
    }

    @Test
    void aDriverMayDelayTheFlush() {
        driver.flushLater = true;
        connections.start(driver);
        FakeEndpoint endpoint = open();
        endpoint.close();
        assertThat(connections.poll(100)).isZero();
        assertThat(connections.hasWork()).isFalse();

        assertThat(connections.inPollRole(() -> connections.flush(endpoint))).isTrue();
        assertThat(connections.poll(100)).isZero(); // closed before the handler knew it, so the handler is never called
        assertThat(calls).containsExactly("opened", "finished");
    }

    @Test
    void aLinkThatIsReadyAfterTheEndIsDiscarded() {
        connections.start(driver);
        FakeEndpoint endpoint = connections.accept();
        endpoint.close();
        assertThat(connections.poll(100)).isZero();

        assertThat(connections.ready(endpoint, new FakeLink("late"))).isTrue();
        assertThat(connections.poll(100)).isZero();

        assertThat(discarded).containsExactly("late");
        assertThat(endpoint.link()).isNull();
    }

    /** Else its peer would keep a connection that nobody polls, and this node would not try again. */
    @Test
    void aConnectionThatTheDriverCannotOpenEnds() {
        connections.start(driver);
        FakeEndpoint endpoint = connections.connect("somewhere");
        assertThat(connections.ready(endpoint, new FakeLink("defect"))).isTrue();

        assertThat(connections.poll(100)).isEqualTo(1);
        assertThat(discarded).containsExactly("defect");
        assertThat(calls)
                .containsExactly(
                        "finished",
                        "disconnected: the connection cannot be used: no descriptor can be watched any more");
    }

    @Test
    void aFailedConnectEndsWithItsReason() throws InterruptedException {
        connections.start(driver);
        FakeEndpoint endpoint = connections.connect("nowhere");
        driver.connecting.await();

        assertThat(connections.poll(100)).isEqualTo(1);

        assertThat(endpoint.remoteSize()).isZero();
        assertThat(calls).containsExactly("finished", "disconnected: cannot connect to nowhere: nobody listens there");
    }

    /** Else the node would never try to reach that peer again. */
    @Test
    void aConnectThatFailsWithAnErrorEndsToo() throws InterruptedException {
        connections.start(driver);
        FakeEndpoint unused = connections.connect("defect");

        assertThat(driver.connecting.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(connections.poll(100)).isEqualTo(1);
        assertThat(calls).containsExactly("finished", "disconnected: cannot connect to defect: not even an exception");
    }

    /** Likewise. */
    @Test
    void aConnectEndsAlsoIfThereIsNoMemoryToSayWhyItFailed() throws InterruptedException {
        connections.start(driver);
        FakeEndpoint unused = connections.connect("undescribed");

        assertThat(driver.connecting.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(connections.poll(100)).isEqualTo(1);
        assertThat(calls).containsExactly("finished", "disconnected: cannot connect to undescribed");
    }

    /** Likewise. */
    @Test
    void aConnectionThatCannotBeOpenedEndsAlsoIfThereIsNoMemoryToSayWhy() {
        connections.start(driver);
        FakeEndpoint endpoint = connections.connect("somewhere");
        assertThat(connections.ready(endpoint, new FakeLink("undescribed"))).isTrue();

        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> connections.poll(100));
        assertThat(connections.poll(100)).isEqualTo(1);
        assertThat(calls).containsExactly("finished", "disconnected: the connection cannot be used");
    }

    /**
     * Else its posts would never end, and the node would never connect to that peer again. Only the reason is
     * allocated, which is known only then.
     */
    @Test
    void theEndOfAConnectionNeedsAlmostNoMemory() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        connections.start(driver);
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 20; i++) { // the first ones link the code
            FakeEndpoint endpoint = open();
            assertThat(connections.poll(100)).isEqualTo(1);
            long before = threads.getCurrentThreadAllocatedBytes();
            endpoint.lost("the peer is gone", FabricError.FLUSHED);
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
            assertThat(connections.poll(100)).isEqualTo(1);
        }
        assertThat(least).isLessThanOrEqualTo(REASON_BYTES);
    }

    /** The tier has the endpoint then, and waits for its end. */
    @Test
    void aConnectWithoutAThreadEndsToo() {
        noThreads.start(driver);
        FakeEndpoint unused = noThreads.connect("somewhere");
        assertThat(noThreads.poll(100)).isEqualTo(1);
        assertThat(calls)
                .containsExactly(
                        "finished", "disconnected: cannot connect to somewhere: unable to create native thread");
    }

    @Test
    void afterAThreadThatDidNotStartTheFabricStillCloses() {
        noThreads.start(driver);
        assertThatExceptionOfType(InternalError.class).isThrownBy(() -> noThreads.run("accepted", () -> {}));
        assertThat(noThreads.close()).isTrue();
    }

    @Test
    void atTheLimitPeersAreRefusedUntilAnEndpointIsForgottenOrFinished() {
        connections.start(driver);
        FakeEndpoint first = connections.accept();
        FakeEndpoint second = open();
        assertThatExceptionOfType(HandshakeException.class)
                .isThrownBy(connections::accept)
                .withMessage("node alpha already has 2 connections, the limit (connections-max)");

        connections.forget(first);
        FakeEndpoint third = connections.accept();
        assertThatExceptionOfType(HandshakeException.class).isThrownBy(connections::accept);
        second.lost("gone", FabricError.FLUSHED);
        assertThat(connections.poll(100)).isEqualTo(2);
        assertThat(connections.accept()).isNotSameAs(third);
    }

    @Test
    void aSecondCloseOfAnEndpointCutsNothing() {
        connections.start(driver);
        FakeEndpoint endpoint = open();

        endpoint.close();
        endpoint.close();

        assertThat(endpoint.cuts).isEqualTo(1);
    }

    /** Else its posts would never end, and the node would never try to reach that peer again. */
    @Test
    void anEndpointEndsAlsoIfItsCutFails() {
        connections.start(driver);
        FakeEndpoint endpoint = open();
        endpoint.outstanding = 1;
        endpoint.cutFails = true;
        assertThat(connections.poll(100)).isEqualTo(1);

        assertThatIllegalStateException().isThrownBy(endpoint::close);
        assertThat(connections.poll(100)).isEqualTo(2);
        assertThat(calls).endsWith("failed 0", "finished", "disconnected: closed by this node");
    }

    @Test
    void anEndpointEndsAlsoIfItsDriverHasNoMemoryForThat() {
        connections.start(driver);
        FakeEndpoint lost = open();
        FakeEndpoint closed = open();
        List<FakeEndpoint> both = List.of(lost, closed);
        both.forEach(endpoint -> endpoint.outstanding = 1);
        both.forEach(endpoint -> endpoint.endFails = true);
        assertThat(connections.poll(100)).isEqualTo(2);
        calls.clear();

        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> lost.lost("the peer is gone", FabricError.FLUSHED));
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(closed::close);

        assertThat(connections.poll(100)).isEqualTo(4);
        assertThat(calls).contains("disconnected: the peer is gone", "disconnected: closed by this node");
    }

    @Test
    void thePostsOfAnEndpointEndAlsoIfTheDriverFailsAtItsEnd() {
        connections.start(driver);
        FakeEndpoint endpoint = open();
        endpoint.outstanding = 1;
        assertThat(connections.poll(100)).isEqualTo(1);
        calls.clear();
        driver.endFails = true;
        endpoint.lost("the peer is gone", FabricError.FLUSHED);

        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> connections.poll(100));

        assertThat(connections.poll(100)).isEqualTo(2);
        assertThat(calls).containsExactly("failed 0", "finished", "disconnected: the peer is gone");
    }

    @Test
    void closeFlushesEveryEndpointAndAcceptsNothingMore() {
        connections.start(driver);
        FakeEndpoint known = open();
        assertThat(connections.poll(100)).isEqualTo(1);
        known.outstanding = 2;
        FakeEndpoint queued = open();

        assertThat(connections.close()).isTrue();

        assertThat(known.cuts).isEqualTo(1);
        assertThat(discarded).containsExactly("link");
        assertThat(calls)
                .containsSubsequence("failed 1", "failed 0", "finished", "disconnected: this node closed the fabric")
                .doesNotContain("completed 0");
        assertThat(queued.link()).isNull();
        assertThat(connections.ready(queued, new FakeLink("after"))).isFalse();
        assertThat(discarded).containsExactly("link", "after");
        assertThat(connections.inPollRole(() -> calls.add("never"))).isFalse();
        assertThat(connections.poll(100)).isZero();
        assertThatIllegalStateException().isThrownBy(() -> connections.connect("somewhere"));
    }

    /** Else the callers of the other posts would wait until their deadlines, and the transport would stay open. */
    @Test
    void anErrorOfTheHandlerWhileThisClosesLosesNoOtherPost() {
        connections.start(driver);
        open().outstanding = 3;
        open().outstanding = 1;
        assertThat(connections.poll(100)).isEqualTo(2);
        calls.clear();
        handler.failsAt = 1;

        assertThat(connections.close()).isTrue();

        String end = "disconnected: this node closed the fabric";
        assertThat(calls)
                .containsExactlyInAnyOrder(
                        "failed 2", "failed 1", "failed 0", "failed 0", "finished", "finished", end, end);
    }

    @Test
    void anEndpointThatCannotBeCutKeepsNoOtherFromEnding() {
        connections.start(driver);
        List<FakeEndpoint> both = List.of(open(), open());
        assertThat(connections.poll(100)).isEqualTo(2);
        both.forEach(endpoint -> endpoint.cutFails = true);
        calls.clear();

        assertThat(connections.close()).isTrue();

        assertThat(both).allMatch(endpoint -> endpoint.cuts == 1);
        String end = "disconnected: this node closed the fabric";
        assertThat(calls).containsExactly("finished", end, "finished", end);
    }

    /** Else the fabric would connect to peers that cannot connect to it. */
    @Test
    void aDriverThatCannotStartIsStoppedAndMayStartLater() {
        driver.startFails = true;
        driver.stopFails = true;
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> connections.start(driver));
        assertThat(driver.stops).isOne();
        assertThatIllegalStateException().isThrownBy(() -> connections.connect("somewhere"));

        driver.startFails = false;
        driver.stopFails = false;
        connections.start(driver);
        FakeEndpoint unused = open();
        assertThat(connections.poll(100)).isOne();
        assertThat(connections.close()).isTrue();
        assertThat(driver.stops).isEqualTo(2);
    }

    @Test
    void connectingBeforeStartAndStartingTwiceAreRefused() {
        assertThatIllegalStateException().isThrownBy(() -> connections.connect("somewhere"));
        connections.start(driver);
        assertThatIllegalStateException().isThrownBy(() -> connections.start(driver));
        assertThatIllegalStateException().isThrownBy(connections::requireNew);
    }
}
