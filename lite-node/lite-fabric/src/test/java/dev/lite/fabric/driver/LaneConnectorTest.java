package dev.lite.fabric.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricIdentity;
import dev.lite.fabric.conformance.IgnoringHandler;
import dev.lite.fabric.conformance.SigningIdentity;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Lanes at the moments when the process has no memory left, or starts no further thread. */
class LaneConnectorTest {
    private static final int UNAUTHENTICATED_MAX = 1;
    private static final int LANES_MAX = 2;

    /** A message of no bytes: the peer is gone. */
    private static final byte[] END = {};

    private final List<String> calls = new CopyOnWriteArrayList<>();
    private final Recorder recorder = new Recorder();
    private final List<Thread> threads = new CopyOnWriteArrayList<>();

    /** A lane whose peer is the test, or the lane at the other end. */
    private static final class TestLane implements MessageChannel {
        private final String name;
        private final BlockingQueue<byte[]> in;
        private final BlockingQueue<byte[]> out;
        private final boolean cannotBeNoted;

        TestLane(String name, BlockingQueue<byte[]> in, BlockingQueue<byte[]> out, boolean cannotBeNoted) {
            this.name = name;
            this.in = in;
            this.out = out;
            this.cannotBeNoted = cannotBeNoted;
        }

        /** One whose peer is gone. */
        static TestLane ended(String name) {
            return new TestLane(name, new LinkedBlockingQueue<>(Set.of(END)), new LinkedBlockingQueue<>(), false);
        }

        @Override
        public int hashCode() {
            if (cannotBeNoted) {
                throw new OutOfMemoryError("no memory for one more lane, on purpose");
            }
            return System.identityHashCode(this);
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public void send(byte[] message, Deadline deadline) {
            out.add(message);
        }

        @Override
        public byte[] receive(int length, Deadline deadline) {
            try {
                byte[] message = in.poll(deadline.remainingNs(), TimeUnit.NANOSECONDS);
                if (message == null || message.length != length) {
                    throw new HandshakeException("the peer is gone");
                }
                return message;
            } catch (InterruptedException e) {
                throw new HandshakeException("interrupted", e);
            }
        }
    }

    private record TestLink(List<TestLane> lanes) implements DriverLink {
        @Override
        public byte[] hello() {
            return END;
        }

        @Override
        public long remoteBytes() {
            return 4096;
        }
    }

    private static final class TestEndpoint extends UnpostableEndpoint<TestLink> {
        TestEndpoint(boolean accepted) {
            super(accepted);
        }

        @Override
        protected void cut(Deadline deadline) {}

        @Override
        protected int flush(FabricHandler handler, int limit) {
            return 0;
        }
    }

    private final class Recorder implements IgnoringHandler, Connections.Driver<TestEndpoint, TestLink> {
        private volatile boolean wakeFails;

        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {
            calls.add("connected");
        }

        @Override
        public void disconnected(FabricEndpoint endpoint, String reason) {
            calls.add("disconnected");
        }

        @Override
        public void opened(TestEndpoint endpoint, TestLink link) {}

        @Override
        public boolean ended(TestEndpoint endpoint) {
            return true;
        }

        @Override
        public void finished(TestEndpoint endpoint) {
            TestLink link = endpoint.link();
            if (link != null) {
                link.lanes().forEach(lane -> calls.add("released " + lane.name));
            }
        }

        @Override
        public void discard(TestLink link) {
            calls.add("discarded a link");
        }

        @Override
        public void wake() {
            if (wakeFails) {
                wakeFails = false;
                throw new OutOfMemoryError("no memory to wake a thread, on purpose");
            }
        }
    }

    private final class TestConnector extends LaneConnector<TestEndpoint, TestLink, TestLane> {
        private final Connections<TestEndpoint, TestLink> connections;
        private final List<TestLane> outgoing = new ArrayList<>();
        private Consumer<TestLane> whenDiscarded = lane -> {};

        TestConnector(Consumer<Thread> starter) {
            this(new Connections<>("fake", "alpha", new ConnectionLimits(1, 10_000), recorder, recorder, starter));
        }

        private TestConnector(Connections<TestEndpoint, TestLink> connections) {
            this(connections, new HostLookups(host -> new InetAddress[0]));
        }

        TestConnector(HostLookups lookups) {
            this(new Connections<>("fake", "alpha", new ConnectionLimits(1, 10_000), recorder, recorder), lookups);
        }

        TestConnector(FabricIdentity identity) {
            this(
                    new Connections<>("fake", "alpha", new ConnectionLimits(1, 10_000), recorder, recorder),
                    handshake(identity),
                    new HostLookups(host -> new InetAddress[0]));
        }

        private TestConnector(Connections<TestEndpoint, TestLink> connections, HostLookups lookups) {
            this(connections, handshake(), lookups);
        }

        private TestConnector(
                Connections<TestEndpoint, TestLink> connections, LaneHandshake handshake, HostLookups lookups) {
            super(connections, handshake, LANES_MAX, UNAUTHENTICATED_MAX, lookups);
            this.connections = connections;
        }

        void arrive(@Nullable InetAddress from, String name) {
            arrive(from, TestLane.ended(name), () -> calls.add("interrupted " + name));
        }

        void arrive(@Nullable InetAddress from, TestLane lane, Runnable interrupt) {
            accept(from, deadline -> lane, interrupt, () -> calls.add("refused " + lane.name));
        }

        @Override
        public TestEndpoint create(boolean accepted) {
            return new TestEndpoint(accepted);
        }

        @Override
        public void start() {}

        @Override
        protected Opener<TestLane> resolve(String address, Deadline deadline) {
            if (address.contains(":")) {
                calls.add(resolve(address, found -> true, "usable", deadline).toString());
            }
            return ofLane -> outgoing.removeFirst();
        }

        @Override
        protected MessageChannel channel(TestLane lane, Deadline deadline) {
            return lane;
        }

        @Override
        protected String name(TestLane lane) {
            return lane.name;
        }

        @Override
        protected TestLink join(
                TestEndpoint endpoint,
                LaneConnector.Peer peer,
                List<TestLane> lanes,
                MessageChannel first,
                boolean connecting,
                Deadline deadline) {
            return new TestLink(lanes);
        }

        @Override
        protected void interrupt(TestLane lane) {}

        @Override
        protected void discard(TestLane lane) {
            calls.add("discarded " + lane.name);
            whenDiscarded.accept(lane);
        }

        @Override
        protected void stopAccepting() {}
    }

    private static LaneHandshake handshake() {
        return handshake(null);
    }

    private static LaneHandshake handshake(@Nullable FabricIdentity identity) {
        var config = new FabricConfig("alpha", new byte[0], Path.of("/"), Map.of()).withIdentity(identity);
        return new LaneHandshake(0x4C0000L, LANES_MAX, null, LaneHandshake.Self.of("fake", config), false, 4096);
    }

    private static Deadline soon() {
        return Deadline.in(Waits.seconds(10));
    }

    private void start(Thread thread) {
        threads.add(thread);
        thread.start();
    }

    private void joinThreads() {
        threads.forEach(Waits::join);
    }

    /** Else each such peer would keep a descriptor and one of the places for handshakes for ever. */
    @Test
    void aLaneWithoutAThreadIsRefusedAndGivesItsPlaceBack() {
        var connector = new TestConnector(thread -> {
            throw new InternalError("unable to create native thread");
        });
        assertThatExceptionOfType(InternalError.class).isThrownBy(() -> connector.arrive(null, "first"));
        assertThatExceptionOfType(InternalError.class).isThrownBy(() -> connector.arrive(null, "second"));
        assertThat(calls).containsExactly("refused first", "refused second");
    }

    /** Else its descriptor would stay, and so would its place. */
    @Test
    void aLaneIsRefusedIfTheOneThatHasToEndForItCannotBeInterrupted() {
        var connector = new TestConnector(threads::add); // the first one waits for ever
        InetAddress from = InetAddress.getLoopbackAddress();
        connector.connections.start(connector);
        connector.arrive(from, TestLane.ended("first"), () -> {
            throw new OutOfMemoryError("no memory to interrupt a thread, on purpose");
        });
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> connector.arrive(from, "second"));
        assertThat(calls).containsExactly("refused second");
        connector.arrive(from, "third");
        assertThat(calls).as("nobody has to end for the third one").containsExactly("refused second");
    }

    /** Some drivers take a while for that. There must not be more lanes of strangers than places for them. */
    @Test
    void thePlaceOfALaneIsFreeOnlyWhenTheLaneIsDiscarded() {
        var connector = new TestConnector(this::start);
        connector.connections.start(connector);
        connector.whenDiscarded = lane -> connector.arrive(null, "a second one");
        connector.arrive(null, "first");
        joinThreads();
        assertThat(calls).containsExactly("discarded first", "refused a second one");
        connector.whenDiscarded = lane -> {};
        connector.arrive(null, "third");
        joinThreads();
        assertThat(calls).endsWith("discarded third");
    }

    @Test
    void aLaneThatCannotBeDiscardedGivesItsPlaceBack() {
        var connector = new TestConnector(this::start);
        connector.connections.start(connector);
        connector.whenDiscarded = lane -> {
            throw new OutOfMemoryError("no memory to discard a lane, on purpose");
        };
        connector.arrive(null, "first");
        joinThreads();
        connector.arrive(null, "second");
        joinThreads();
        assertThat(calls).containsExactly("discarded first", "discarded second");
    }

    /** The lanes belong to the connection by then. It ends, since the handler may hear of it too late. */
    @Test
    void anAcceptedConnectionEndsWithItsLanesIfNoThreadCanBeWokenForIt() {
        var connector = new TestConnector(this::start);
        connector.connections.start(connector);
        BlockingQueue<byte[]> there = new LinkedBlockingQueue<>();
        BlockingQueue<byte[]> back = new LinkedBlockingQueue<>();
        recorder.wakeFails = true;
        connector.arrive(null, new TestLane("first", there, back, false), () -> {});
        handshake().connect(new TestLane("peer", back, there, false), "alpha", 0, 1, 4711, 4712, soon());
        joinThreads();

        assertThat(calls).isEmpty();
        connector.connections.poll(10);

        assertThat(calls).containsExactly("connected", "released first", "disconnected");
        assertThat(connector.connections.accept()).as("a place for another one").isNotNull();
    }

    @Test
    void aLaneThatCannotBeNotedIsDiscarded() {
        var connector = new TestConnector(this::start);
        connector.connections.start(connector);
        BlockingQueue<byte[]> none = new LinkedBlockingQueue<>();
        connector.outgoing.add(new TestLane("first", none, none, true));
        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> connector.connect(new TestEndpoint(false), "somewhere", soon()));
        assertThat(calls).containsExactly("discarded first");
    }

    @Test
    void aLaneThatCannotBeDiscardedKeepsNoOther() {
        var connector = new TestConnector(this::start);
        connector.connections.start(connector);
        BlockingQueue<byte[]> there = new LinkedBlockingQueue<>();
        BlockingQueue<byte[]> back = new LinkedBlockingQueue<>();
        connector.outgoing.add(new TestLane("first", there, back, false));
        connector.outgoing.add(TestLane.ended("second"));
        connector.whenDiscarded = lane -> {
            throw new OutOfMemoryError("no memory to discard a lane, on purpose");
        };
        start(Thread.ofPlatform().daemon().unstarted(() -> {
            var accepted = handshake().accept(new TestLane("peer", back, there, false), soon());
            accepted.welcome(2, soon());
        }));
        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> connector.connect(new TestEndpoint(false), "somewhere", soon()));
        joinThreads();
        assertThat(calls).containsExactly("discarded first", "discarded second");
    }

    /** A resolver that answers when the test ends. */
    private static HostLookups hanging(CountDownLatch asked, CountDownLatch over) {
        return new HostLookups(host -> {
            asked.countDown();
            Waits.await(over);
            return new InetAddress[0];
        });
    }

    @Test
    void aConnectEndsAtItsDeadlineWhileTheSystemStillLooksForTheHost() {
        CountDownLatch over = new CountDownLatch(1);
        var connector = new TestConnector(hanging(new CountDownLatch(1), over));
        try {
            assertThatExceptionOfType(HandshakeException.class)
                    .isThrownBy(() -> connector.connect(
                            new TestEndpoint(false), "far.invalid:4711", Deadline.in(Duration.ofMillis(20))))
                    .withMessage("looking up host 'far.invalid': not done within its deadline of 20 ms");
        } finally {
            over.countDown();
        }
    }

    /** Else a close would wait for the system's lookup, which nothing ends. */
    @Test
    void aCloseEndsAConnectWhileTheSystemStillLooksForTheHost() {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        var connector = new TestConnector(hanging(asked, over));
        connector.connections.start(connector);
        try {
            var endpoint = connector.connections.connect("far.invalid:4711");
            Waits.await(asked);
            assertThat(connector.connections.close()).as("no thread is left").isTrue();
            assertThat(endpoint.end()).isNotNull();
        } finally {
            over.countDown();
        }
    }

    /** Gets to know its peers when the test wants it. */
    private static final class LateIdentity extends SigningIdentity {
        private final AtomicInteger asked = new AtomicInteger();
        private final CountDownLatch known = new CountDownLatch(1);

        @Override
        public @Nullable String objectionTo(FabricIdentity.Peer peer, Duration timeout) {
            asked.incrementAndGet();
            Waits.await(known);
            return null;
        }
    }

    /** One that knows the secret and is no node could else occupy any number of threads. */
    @Test
    void aLaneIsRefusedWhileTheLanesOfAllConnectionsWaitForTheIdentitiesOfTheirPeers() {
        String noConnection = "it refused: no connection waits for this lane";
        var identity = new LateIdentity();
        var connector = new TestConnector(identity);
        connector.connections.start(connector);
        List<String> refusals = new CopyOnWriteArrayList<>();
        try {
            for (int i = 1; i <= LANES_MAX; i++) {
                int lanes = i;
                start(Thread.ofPlatform().daemon().unstarted(() -> refusals.add(refusalOf(connector))));
                Waits.until("lane %d waits".formatted(i), () -> identity.asked.get() == lanes);
            }
            assertThat(refusalOf(connector)).isEqualTo("it refused: 2 handshakes are under way, the limit");
        } finally {
            identity.known.countDown();
        }
        joinThreads();
        assertThat(refusals).containsExactly(noConnection, noConnection);
        Waits.until("there is room again", () -> refusalOf(connector).equals(noConnection));
    }

    /** A peer that knows the secret opens a lane of no connection. Returns why that fails. */
    private static String refusalOf(TestConnector connector) {
        BlockingQueue<byte[]> there = new LinkedBlockingQueue<>();
        BlockingQueue<byte[]> back = new LinkedBlockingQueue<>();
        connector.arrive(null, new TestLane("lane", there, back, false), () -> {});
        try {
            handshake(new LateIdentity())
                    .connect(new TestLane("peer", back, there, false), "alpha", 1, 2, 4711, 4712, soon());
            return "not refused";
        } catch (HandshakeException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
