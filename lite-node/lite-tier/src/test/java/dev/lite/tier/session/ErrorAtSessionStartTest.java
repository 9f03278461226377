package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions for whose thread there is no memory, or so it seems. */
class ErrorAtSessionStartTest {
    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private SessionServer server;

    @BeforeEach
    void start() {
        server = new SessionServer(SessionServerConfig.of(directory.resolve("node.sock")), backend);
        server.start();
    }

    @AfterEach
    void close() {
        server.close();
        backend.close();
    }

    /** The sessions that wait for their start get other threads, whose start throws. */
    private void starts(boolean runsAllTheSame) {
        Inside.set(server, "waiting", new ConcurrentHashMap<NodeSession, Thread>() {
            @Override
            public Thread put(NodeSession session, Thread thread) {
                return super.put(session, new Thread(session) {
                    @Override
                    public void start() {
                        if (runsAllTheSame) {
                            super.start();
                            Waits.until("it runs", () -> !server.sessions().isEmpty());
                        }
                        throw new OutOfMemoryError("unable to create native thread, which the test expects");
                    }
                });
            }
        });
    }

    private Map<?, ?> map(String name) {
        return Inside.field(server, name, Map.class);
    }

    /** From now on, attaching applications wait for their turn. */
    private void takeTurns(int turns) throws IOException {
        int uid = (int) Files.getAttribute(directory, "unix:uid");
        AttachPace pace = Inside.field(server, "pace", AttachPace.class);
        for (int turn = 0; turn < turns; turn++) {
            long unused = pace.takeTurn(uid);
        }
    }

    /** As with a virtual thread: there is no memory for a further carrier, but another one runs it. */
    @Test
    void aSessionThatRunsAlthoughTheStartOfItsThreadThrewIsServed() {
        starts(true);
        try (Lite lite = Lite.attach(AttachOptions.to(server.socket(), "test").withDeadline(Waits.seconds(10)))) {
            assertThat(lite.memory()).isNotNull();
            assertThat(lite.isOpen()).isTrue();
        }
        Waits.until("it has ended", () -> server.sessions().isEmpty());
        assertThat(map("waiting")).isEmpty();
        assertThat(backend.sessionsClosed).hasValue(1);
    }

    @Test
    void aConnectionEndsWhoseThreadCannotBeStarted() throws ProtocolException {
        starts(false);
        isEnded();
    }

    @Test
    void aConnectionEndsWhoseThreadCannotBeStartedWhenItsTurnComes() throws ProtocolException, IOException {
        starts(false);
        takeTurns(2 * AttachPace.ATTACHES);
        isEnded();
    }

    private void isEnded() throws ProtocolException {
        try (RawClient client = new RawClient(server.socket())) {
            assertThat(client.channel.receive()).isNull();
            Waits.until("nothing is left of it", () -> map("connections").isEmpty());
            assertThat(map("waiting")).isEmpty();
        }
    }

    @Test
    void aServerEndsIfNoThreadCanBeStartedForAConnectionThatWaits() throws ProtocolException, IOException {
        starts(false);
        takeTurns(10 * AttachPace.ATTACHES);
        try (RawClient client = new RawClient(server.socket())) {
            Waits.until("it waits", () -> !map("waiting").isEmpty());
            server.close();
            while (client.channel.receive() != null) {
                // perhaps it gets the reason
            }
            assertThat(map("connections")).isEmpty();
        }
    }
}
