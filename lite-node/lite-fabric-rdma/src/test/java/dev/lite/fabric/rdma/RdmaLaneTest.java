package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.impl.FakeConnectionManager;
import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.TestVerbs;
import dev.lite.fabric.rdma.verbs.Verbs;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
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

    private final Arena arena = Arena.ofShared();
    private Channel channel;
    private FakeConnectionManager calls;
    private ConnectionManager manager;
    private Announcements announcements;
    private OwnMemory own;
    private RdmaLane lane;

    @BeforeEach
    void open() throws IOException {
        channel = Channel.open();
        calls = channel.calls();
        Verbs verbs = TestVerbs.of(calls);
        manager = new ConnectionManager(
                "alpha", verbs, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), request -> {});
        Lanes lanes = new Lanes(1);
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
}
