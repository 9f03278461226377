package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LmrSpec;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An application whose commands all wait for something that does not answer, in all slots of several sessions. */
class HostileCommandsTest {
    private static final int SESSIONS = 4;
    private static final int PLACES = 256;

    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private SessionServer server;

    @BeforeEach
    void start() {
        server = new SessionServer(
                SessionServerConfig.of(directory.resolve("s"))
                        .withPolicy(PrincipalPolicy.of(List.of(
                                new PrincipalPolicy.Rule("greedy", OptionalInt.empty(), "greedy"),
                                new PrincipalPolicy.Rule("good", OptionalInt.empty(), "good")))),
                backend);
        server.start();
    }

    @AfterEach
    void stop() {
        backend.resume();
        server.close();
        backend.close();
    }

    @Test
    void slowCommandsOfOnePrincipalTakeAtMostHalfOfTheThreadsAndOthersGoOn() throws ProtocolException {
        List<RawClient> clients = new ArrayList<>();
        try {
            backend.resume();
            List<Long> slow = new ArrayList<>();
            for (int session = 0; session <= SESSIONS; session++) {
                RawClient client = new RawClient(directory.resolve("s"));
                clients.add(client);
                client.attach(Hello.of("raw", session < SESSIONS ? "greedy" : "good"));
                slow.add(malloc(client, FakeBackend.SLOW + session));
            }
            backend.slowAgain();
            for (int session = 0; session < SESSIONS; session++) {
                for (int slot = 0; slot < SessionArea.SLOTS_MAX; slot++) {
                    clients.get(session).command(slot, Op.READ, slow.get(session), 0, 8);
                }
                clients.get(session).submit(-1L);
            }
            // One thread of each session, and the principal's half of the further ones.
            int most = SESSIONS + PLACES / 2;
            Waits.until("it has all the threads that it gets", () -> backend.waited.get() >= most);
            RawClient good = clients.getLast();
            long fast = malloc(good, "fast");
            good.command(0, Op.READ, slow.getLast(), 0, 8);
            good.submit(1);
            Waits.until("the good one's first command waits, too", () -> backend.waited.get() > most);
            good.command(5, Op.READ, fast, 0, 8);
            good.submit(1 << 5);
            Waits.until("its next command is executed", () -> isDone(good, 5));
            assertThat(backend.waited).as("commands that wait").hasValue(most + 1);
            backend.resume();
            for (int session = 0; session < SESSIONS; session++) {
                RawClient client = clients.get(session);
                for (int slot = 0; slot < SessionArea.SLOTS_MAX; slot++) {
                    int each = slot;
                    Waits.until("the rest of the commands is executed", () -> isDone(client, each));
                }
            }
        } finally {
            clients.forEach(RawClient::close);
        }
    }

    private static long malloc(RawClient client, String name) throws ProtocolException {
        client.channel.send(
                new Malloc(1, Waits.seconds(20).toNanos(), LmrSpec.of(4096).withName(name)));
        if (client.channel.receive() instanceof Mapped mapped) {
            return mapped.lh();
        }
        throw new AssertionError("no malloc");
    }

    private static boolean isDone(RawClient client, int slot) {
        return RawMemory.getIntAcquire(client.base() + SessionArea.slotOffset(slot) + SessionArea.STATE)
                == SessionArea.STATE_DONE;
    }
}
