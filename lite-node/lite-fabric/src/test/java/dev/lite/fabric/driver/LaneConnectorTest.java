package dev.lite.fabric.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.os.waiting.Deadline;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Accepting lanes when the system starts no further thread. */
class LaneConnectorTest {
    private static final int UNAUTHENTICATED_MAX = 1;

    private final List<String> calls = new ArrayList<>();
    private final TestConnector connector = new TestConnector();

    private interface TestLink extends DriverLink {}

    private abstract static class TestEndpoint extends DriverEndpoint<TestLink> {
        TestEndpoint() {
            super(true);
        }
    }

    private static final class Ignoring implements FabricHandler, Connections.Driver<TestEndpoint, TestLink> {
        @Override
        public void completed(FabricEndpoint endpoint, long context) {}

        @Override
        public void failed(FabricEndpoint endpoint, long context, FabricError error) {}

        @Override
        public void immediate(FabricEndpoint endpoint, int immediate) {}

        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {}

        @Override
        public void disconnected(FabricEndpoint endpoint, String reason) {}

        @Override
        public void opened(TestEndpoint endpoint, TestLink link) {}

        @Override
        public boolean ended(TestEndpoint endpoint) {
            return true;
        }

        @Override
        public void finished(TestEndpoint endpoint) {}

        @Override
        public void discard(TestLink link) {}

        @Override
        public void wake() {}
    }

    private final class TestConnector extends LaneConnector<TestEndpoint, TestLink, String> {
        TestConnector() {
            this(new Ignoring());
        }

        private TestConnector(Ignoring ignoring) {
            super(
                    new Connections<>("fake", "alpha", new ConnectionLimits(1, 1_000), ignoring, ignoring, thread -> {
                        throw new InternalError("unable to create native thread");
                    }),
                    new LaneHandshake(
                            0x4C0000L,
                            1,
                            null,
                            LaneHandshake.Self.of(
                                    "fake", new FabricConfig("alpha", new byte[0], Path.of("/"), Map.of())),
                            false,
                            4096),
                    1,
                    UNAUTHENTICATED_MAX);
        }

        void arrive(@Nullable InetAddress from, String lane) {
            accept(from, deadline -> lane, () -> calls.add("interrupted " + lane), () -> calls.add("refused " + lane));
        }

        @Override
        public TestEndpoint create(boolean accepted) {
            throw new AssertionError("no handshake begins");
        }

        @Override
        public void start() {}

        @Override
        protected Opener<String> resolve(String address) {
            throw new AssertionError("this test does not connect");
        }

        @Override
        protected MessageChannel channel(String lane, Deadline deadline) {
            throw new AssertionError("no handshake begins");
        }

        @Override
        protected String name(String lane) {
            return lane;
        }

        @Override
        protected TestLink join(
                TestEndpoint endpoint,
                Peer peer,
                List<String> lanes,
                MessageChannel first,
                boolean connecting,
                Deadline deadline) {
            throw new AssertionError("no handshake begins");
        }

        @Override
        protected void interrupt(String lane) {}

        @Override
        protected void discard(String lane) {}

        @Override
        protected void stopAccepting() {}
    }

    /** Else each such peer would keep a descriptor and one of the places for handshakes for ever. */
    @Test
    void aLaneWithoutAThreadIsRefusedAndGivesItsPlaceBack() {
        assertThatExceptionOfType(InternalError.class).isThrownBy(() -> connector.arrive(null, "first"));
        assertThatExceptionOfType(InternalError.class).isThrownBy(() -> connector.arrive(null, "second"));
        assertThat(calls).containsExactly("refused first", "refused second");
    }
}
