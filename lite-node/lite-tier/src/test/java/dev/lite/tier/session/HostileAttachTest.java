package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.os.OsException;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that keep others from attaching. */
class HostileAttachTest {
    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private final List<Runnable> closes = new ArrayList<>();

    private Path serve(SessionServerConfig config) {
        SessionServer server = new SessionServer(config, backend);
        server.start();
        closes.add(server::close);
        return server.socket();
    }

    private SessionServerConfig config() {
        return SessionServerConfig.of(directory.resolve("node.sock"));
    }

    @AfterEach
    void close() {
        closes.reversed().forEach(Runnable::run);
        backend.close();
    }

    @Test
    void connectionsThatSayNoHelloDoNotKeepOthersOut() {
        Path socket = serve(config().withHelloTimeout(Duration.ofHours(1)));
        for (int i = 0; i < 400; i++) {
            closes.add(new RawClient(socket)::close);
        }
        for (int i = 0; i < 20; i++) {
            Lite.attach(AttachOptions.to(socket, "neighbour").withDeadline(Waits.seconds(10)))
                    .close();
        }
    }

    @Test
    void onePrincipalTakesHalfOfTheSessionsAtMost() {
        Path socket = serve(config().withLimits(16, 100, 16)
                .withPolicy(PrincipalPolicy.of(List.of(
                        new PrincipalPolicy.Rule("greedy", OptionalInt.empty(), "the token of the greedy one"),
                        new PrincipalPolicy.Rule("other", OptionalInt.empty(), "the token of the other one")))));
        AttachOptions greedy = AttachOptions.to(socket, "greedy").withToken("the token of the greedy one");
        for (int i = 0; i < 8; i++) {
            closes.add(Lite.attach(greedy)::close);
        }
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> Lite.attach(greedy).close())
                .withMessageContaining("\"greedy\" has 8 of the 8 sessions")
                .withMessageContaining("the limit is 16");
        Lite other = Lite.attach(AttachOptions.to(socket, "other").withToken("the token of the other one"));
        closes.add(other::close);
        assertThat(other.isOpen()).isTrue();
    }

    /** The node waits for a second until such an application can take the reason of the end. */
    @Test
    void applicationsThatDoNotReadDoNotHoldUpTheEndOfTheNodeOneAfterTheOther() throws ProtocolException {
        SessionServer server = new SessionServer(config().withLimits(256, 100, 1024), backend);
        closes.add(server::close);
        server.start();
        RawClient first = attachRaw(server.socket());
        ask(first, 2000);
        Waits.until("it has lost its session", () -> server.sessions().isEmpty());
        int fits = 0;
        while (first.channel.receive() instanceof Done) {
            fits++;
        }
        for (int i = 0; i < 60; i++) {
            ask(attachRaw(server.socket()), fits);
        }
        Waits.pass(Duration.ofMillis(500)); // for the replies
        Thread closing = Thread.ofPlatform().daemon().start(server::close);

        Waits.join(closing);

        assertThat(server.sessions()).isEmpty();
    }

    private RawClient attachRaw(Path socket) throws ProtocolException {
        RawClient client = new RawClient(socket);
        closes.add(client::close);
        return client.attach();
    }

    /** Sends requests, and reads no reply. */
    private static void ask(RawClient client, int requests) {
        for (int request = 1; request <= requests; request++) {
            try {
                client.channel.send(new RpcClose(request, request));
            } catch (OsException ended) {
                return;
            }
        }
    }
}
