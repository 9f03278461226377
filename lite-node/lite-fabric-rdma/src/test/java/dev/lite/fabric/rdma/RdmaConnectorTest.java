package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.ibm.disni.verbs.impl.FakeConnectionManager;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.conformance.IgnoringHandler;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.rdma.verbs.TestVerbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is left of lanes and of a device's resources, without a device, when the process has no memory left. */
@Isolated("it finds a descriptor among those of its process")
class RdmaConnectorTest {
    private static final Windows SMALL = new Windows(Windows.SHIFT_MIN);
    private static final int ENTRIES = 64;
    private static final String ADDRESS = "127.0.0.1:1";

    private final Arena arena = Arena.ofShared();
    private final Lanes lanes = new Lanes(1);
    private final Ignoring ignoring = new Ignoring();
    private final Connections<RdmaEndpoint, RdmaLink> connections =
            new Connections<>("rdma", "alpha", new ConnectionLimits(1, 10_000), ignoring, ignoring);
    private Channel channel;
    private FakeConnectionManager calls;

    static final class Ignoring implements IgnoringHandler, Connections.Driver<RdmaEndpoint, RdmaLink> {
        @Override
        public void opened(RdmaEndpoint endpoint, RdmaLink link) {}

        @Override
        public boolean ended(RdmaEndpoint endpoint) {
            return true;
        }

        @Override
        public void finished(RdmaEndpoint endpoint) {}

        @Override
        public void discard(RdmaLink link) {}

        @Override
        public void wake() {}
    }

    @BeforeEach
    void open() throws IOException {
        channel = Channel.open();
        calls = channel.calls();
    }

    @AfterEach
    void close() throws IOException {
        if (channel != null) {
            channel.close();
        }
        arena.close();
    }

    private Resources resources() {
        var made = Resources.open(
                "alpha",
                TestVerbs.of(calls),
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                ENTRIES,
                arena.allocate(2 * SMALL.bytes()),
                SMALL,
                lanes,
                request -> {});
        calls.afterEvent = made.manager()::dispatch;
        return made;
    }

    private RdmaConnector connector(Resources resources) {
        var config = new FabricConfig("alpha", new byte[0], Path.of("/"), Map.of());
        var self = LaneHandshake.Self.of("rdma", config);
        var handshake = new LaneHandshake(RdmaFabric.PROTOCOL, RdmaOptions.LANES_MAX, null, self, false, 4096);
        var connector = new RdmaConnector(
                connections,
                handshake,
                RdmaOptions.of(Map.of()),
                InetAddress.getLoopbackAddress(),
                resources,
                lanes,
                lane -> lanes.release(lane.tag));
        connections.start(connector);
        return connector;
    }

    private static void connect(RdmaConnector connector) {
        connector.connect(connector.create(false), ADDRESS, Deadline.in(Waits.seconds(10)));
    }

    /** A node connects again and again. */
    @ParameterizedTest
    @ValueSource(
            strings = {"resolveAddr", "resolveRoute", "createQP", "connect", "the first region", "the second region"})
    void aLaneForWhichThereIsNoMemoryLeavesNothing(String step) {
        try (var resources = resources()) {
            var connector = connector(resources);
            var before = Set.copyOf(calls.open);
            calls.withoutMemory = step;
            if (step.endsWith("region")) {
                calls.registrations.set(step.contains("first") ? 0 : 1);
            }
            assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> connect(connector));
            connections.poll(10);
            assertThat(calls.open).isEqualTo(before);
            assertThat(lanes.take()).as("the only tag").isNotNegative();
            resources.manager().stop();
            resources.announcements().close();
        }
    }

    @Test
    void aLaneWhoseMemoryCannotBeReleasedGivesItsTagBack() {
        try (var resources = resources()) {
            var connector = connector(resources);
            var before = Set.copyOf(calls.open);
            calls.lastingRegions.set(1);
            Deadline deadline = Deadline.in(Duration.ofMillis(200)); // no peer answers
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> connector.connect(connector.create(false), ADDRESS, deadline));
            connections.poll(10);
            assertThat(calls.open).as("one region is left").hasSize(before.size() + 1);
            assertThat(lanes.take()).as("the only tag").isNotNegative();
            resources.manager().stop();
            resources.announcements().close();
        }
    }

    /** An application may try to start its node again and again. */
    @Test
    void resourcesForWhichThereIsNoMemoryLeaveNothing() {
        calls.registrations.set(1);
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this::resources);
        assertThat(calls.open).isEmpty();
    }

    @Test
    void memoryThatCannotBeReleasedKeepsNoOtherResource() {
        var resources = resources();
        resources.manager().stop();
        calls.lastingRegions.set(1);
        assertThatExceptionOfType(VerbsException.class).isThrownBy(resources::close);
        assertThat(calls.open).containsExactly("region 1");
        resources.announcements().close();
    }
}
