package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.ibm.disni.verbs.impl.FakeConnectionManager;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.TestVerbs;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** A queue pair without a device: what is posted, and what becomes of it when the device refuses it. */
@Isolated("it finds a descriptor among those of its process")
class RdmaLaneTest {
    private static final int TAG = Completion.tag(0, 1);
    private static final int DEPTH = 64;
    private static final Windows SMALL = new Windows(Windows.SHIFT_MIN);
    private static final int RECEIVES_AT_ONCE = 32;
    private static final long CONTEXT = 4711;

    private final List<Long> failed = new ArrayList<>();
    private final FabricHandler handler = new FabricHandler() {
        @Override
        public void completed(FabricEndpoint endpoint, long context) {
            throw new AssertionError("nothing completes");
        }

        @Override
        public void failed(FabricEndpoint endpoint, long context, FabricError error) {
            failed.add(context);
        }

        @Override
        public void immediate(FabricEndpoint endpoint, int immediate) {
            throw new AssertionError("nothing arrives");
        }

        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {
            throw new AssertionError("nobody connects");
        }

        @Override
        public void disconnected(FabricEndpoint endpoint, String reason) {
            throw new AssertionError("nobody disconnects");
        }
    };
    private final RdmaEndpoint endpoint = new RdmaEndpoint(true, () -> {});
    private final Arena arena = Arena.ofShared();
    private Channel channel;
    private FakeConnectionManager calls;
    private Verbs verbs;
    private Lanes lanes;
    private ConnectionManager manager;
    private Announcements announcements;
    private OwnMemory own;
    private RdmaLane lane;

    @BeforeEach
    void open() throws IOException {
        channel = Channel.open();
        calls = channel.calls();
        verbs = TestVerbs.of(calls);
        manager = new ConnectionManager(
                "alpha", verbs, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), request -> {});
        lanes = new Lanes(1);
        announcements = new Announcements(verbs, calls.completionChannel(), 1, lanes);
        own = OwnMemory.register(verbs, 1, arena.allocate(2 * SMALL.bytes()), SMALL);
        lane = new RdmaLane(verbs, manager, manager.create(), new LaneMemory(verbs, 1), announcements, TAG, DEPTH);
        lane.open(1, 1);
    }

    @AfterEach
    void close() throws IOException {
        if (lane != null) {
            lane.destroy();
            announcements.close();
            manager.stop();
            manager.close();
            channel.close();
        }
        arena.close();
    }

    /** A count of all receives would be negative after 2^31, like no number of a receive. */
    @Test
    void aReceiveThatIsPostedAgainHasTheSameId() {
        calls.receives.clear();
        Mailbox mailbox = lane.openMailbox(own);
        List<Long> first = List.copyOf(calls.receives);
        assertThat(first).hasSize(Mailbox.RECEIVES).doesNotHaveDuplicates();
        calls.receives.clear();
        for (int receive = 0; receive < RECEIVES_AT_ONCE; receive++) {
            mailbox.tookReceive();
        }
        assertThat(calls.receives).isEqualTo(first.subList(0, RECEIVES_AT_ONCE));
    }

    /** The first half may be under way, and the device still writes to the buffer. */
    @Test
    void aTransferOfWhichTheDeviceRefusesALaterPartFailsAtTheEndOfItsQueuePair() {
        PeerMemory peer = own.describe(0, 0);
        calls.sends.set(1);
        assertThat(lane.transfer(WorkRequest.READ, own, peer, 0, own.address(), (int) own.bytes(), 0, null, CONTEXT))
                .isEqualTo(Post.ACCEPTED);
        assertThat(lane.failure()).contains("Cannot allocate memory");
        assertThat(failed).isEmpty();
        lane.destroy();
        assertThat(lane.fail(endpoint, handler, FabricError.FLUSHED, DEPTH)).isEqualTo(1);
        assertThat(failed).containsExactly(CONTEXT);
    }

    @Test
    void aTransferOfWhichTheDeviceRefusesTheFirstPartIsNotTaken() {
        calls.sends.set(0);
        assertThat(lane.transfer(
                        WorkRequest.READ,
                        own,
                        own.describe(0, 0),
                        0,
                        own.address(),
                        (int) own.bytes(),
                        0,
                        null,
                        CONTEXT))
                .isEqualTo(Post.CLOSED);
        lane.destroy();
        assertThat(lane.fail(endpoint, handler, FabricError.FLUSHED, DEPTH)).isZero();
    }

    /** A thread that asks just before the end may come while the poll role fails what was asked. */
    @Test
    void anAtomicStepThatIsNotPostedIsNotFailed() {
        Mailbox mailbox = lane.openMailbox(own);
        calls.beforeSend = () -> mailbox.fail(endpoint, handler, FabricError.FLUSHED, DEPTH);
        calls.sends.set(0);
        assertThat(mailbox.ask(Mailbox.FETCH_ADD, 0, 1, 0, own.address(), CONTEXT))
                .isEqualTo(Post.CLOSED);
        assertThat(failed).isEmpty();
    }

    /** Its event comes together with the one before, when the peer has gone at once. */
    @Test
    void aLaneWhosePeerWentBeforeItWasKnownIsLost() {
        ConnectionManager.Id id = lane.id();
        calls.events.add(new FakeConnectionManager.Event(id.handle(), Verbs.ESTABLISHED));
        calls.events.add(new FakeConnectionManager.Event(id.handle(), Verbs.DISCONNECTED));
        manager.dispatch();
        id.await(Verbs.ESTABLISHED, Deadline.in(Waits.seconds(10)));
        id.carry(lane);
        assertThat(lane.failure()).isEqualTo("it disconnected");
    }

    /** Pinned pages, and a device that may write them, would stay as long as the process. */
    @Test
    void aRegistrationThatCannotBeReleasedKeepsNoOther() {
        var before = Set.copyOf(calls.open);
        OwnMemory windows = OwnMemory.register(verbs, 1, arena.allocate(2 * SMALL.bytes()), SMALL);
        calls.lastingRegions.set(1);
        assertThatExceptionOfType(VerbsException.class).isThrownBy(windows::close);
        assertThat(calls.open).as("one of two windows is left").hasSize(before.size() + 1);

        LaneMemory memory = new LaneMemory(verbs, 1);
        calls.lastingRegions.set(1);
        assertThatExceptionOfType(VerbsException.class).isThrownBy(memory::release);
        assertThat(calls.open).as("and one of two of the lane").hasSize(before.size() + 2);
    }

    @Test
    void memoryForWhichThereIsNoRoomIsNotRegisteredInPart() {
        var before = Set.copyOf(calls.open);
        calls.registrations.set(1);
        var segment = arena.allocate(2 * SMALL.bytes());
        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> OwnMemory.register(verbs, 1, segment, SMALL));
        assertThat(calls.open).isEqualTo(before);
        calls.registrations.set(1);
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> new LaneMemory(verbs, 1));
        assertThat(calls.open).isEqualTo(before);
    }

    @Test
    void aLaneThatCannotBeReleasedKeepsNoOtherOfItsConnection() {
        var second =
                new RdmaLane(verbs, manager, manager.create(), new LaneMemory(verbs, 1), announcements, TAG, DEPTH);
        second.open(1, 1);
        var link = new RdmaLink(
                new byte[0], own, own.describe(0, 0), new RdmaLane[] {lane, second}, lane.openMailbox(own), "peer");
        calls.lastingRegions.set(1);
        assertThatExceptionOfType(VerbsException.class).isThrownBy(link::destroy);
        assertThat(calls.open)
                .doesNotContain(
                        "queue pair of " + lane.id().handle(),
                        "queue pair of " + second.id().handle());
    }

    /** Else the thread that stops polling would meet it again and again, and its connections would stay. */
    @Test
    void connectionsEndIfTheDeviceCannotAnnounceCompletions() {
        List<String> reasons = new ArrayList<>();
        var delivery =
                new Delivery(new Completions(verbs, 1, DEPTH, lanes), announcements, lanes, handler, reasons::add);
        assertThat(delivery.leave()).isTrue();
        delivery.resume();

        calls.notificationFails = true;
        var another = new Announcements(verbs, calls.completionChannel(), 1, lanes);
        delivery = new Delivery(new Completions(verbs, 1, DEPTH, lanes), another, lanes, handler, reasons::add);
        assertThat(delivery.leave()).as("there is nothing to poll").isTrue();
        assertThat(reasons).containsExactly("the device failed: ibv_req_notify_cq failed: Input/output error");
        another.close();
    }

    /** Else the peer could send no immediate any more, as long as the connection lasts. */
    @Test
    void aPeerGetsItsCreditsBackAlsoIfTheHandlerFailsForEachImmediate() {
        Mailbox mailbox = lane.openMailbox(own);
        lanes.put(lane);
        lane.own(endpoint);
        var link = new RdmaLink(new byte[0], own, own.describe(0, 0), new RdmaLane[] {lane}, mailbox, "peer");
        mailbox.connect(link.remote());
        var ignoring = new RdmaConnectorTest.Ignoring();
        var connections = new Connections<RdmaEndpoint, RdmaLink>(
                "rdma", "alpha", new ConnectionLimits(1, 10_000), ignoring, ignoring);
        assertThat(connections.ready(endpoint, link)).isTrue();
        connections.poll(1);
        var delivery = new Delivery(new Completions(verbs, 1, DEPTH, lanes), announcements, lanes, handler, reason -> {
            throw new AssertionError(reason);
        });
        for (int receive = 0; receive < Mailbox.IMMEDIATES; receive++) {
            calls.immediates.add(Completion.receiveId(TAG, RdmaLane.HANDSHAKE_RECEIVES + receive));
            assertThatExceptionOfType(AssertionError.class)
                    .isThrownBy(() -> delivery.poll(1))
                    .withMessage("nothing arrives");
        }
        calls.sends.set(1);
        delivery.settle(List.of(endpoint));
        assertThat(calls.sends).as("the credits are sent").hasValue(0);
    }
}
