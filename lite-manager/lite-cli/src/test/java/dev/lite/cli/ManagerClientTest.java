package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How commands ask managers: which of them, with which token, and within which limits. */
class ManagerClientTest extends AgainstFakeManager {
    @Test
    void anOrderIsFollowedWhileNoManagerAnswersForAMoment() throws IOException {
        manager.with("POST /api/rebalance", 202, "{'id':9,'state':'WANTED','note':''}")
                .with("GET /api/orders/9", 503, "{'detail':'ZooKeeper is away'}")
                .with("GET /api/orders/9", 200, "{'id':9,'state':'RUNNING','note':''}")
                .with("GET /api/orders/9", 503, "{'detail':'ZooKeeper is away'}")
                .with("GET /api/orders/9", 200, "{'id':9,'state':'DONE','note':''}");
        assertThat(ask("rebalance")).as(err.toString()).isZero();
        assertThat(out.toString()).isEqualTo("""
                order 9 WANTED
                order 9 RUNNING
                order 9 DONE
                """);
        assertThat(err.toString().lines())
                .allMatch(line -> line.equals("lite: cannot ask for order 9; trying again: ZooKeeper is away"))
                .hasSize(2);
    }

    @Test
    void anOrderThatNoManagerTellsOfByTheDeadlineEndsWithExitStatusFive() {
        manager.with("POST /api/rebalance", 202, "{'id':9,'state':'RUNNING','note':''}")
                .with("GET /api/orders/9", 503, "{'detail':'ZooKeeper is away'}");
        assertThat(ask("rebalance", "--deadline", "1")).isEqualTo(ExitStatus.NOT_YET);
        assertThat(err.toString()).contains("ZooKeeper is away").contains("order 9 is RUNNING after 1 s");
    }

    @Test
    void aManagerThatStopsWithinAnAnswerIsNotAwaitedForEver() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            List<Socket> sockets = new CopyOnWriteArrayList<>();
            Thread paused = Thread.ofVirtual().start(() -> {
                try {
                    Socket socket = server.accept();
                    sockets.add(socket);
                    socket.getOutputStream()
                            .write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n["
                                    .getBytes(StandardCharsets.US_ASCII));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            String url = "http://127.0.0.1:" + server.getLocalPort();
            assertTimeoutPreemptively(
                    Waits.seconds(20),
                    () -> assertThat(lite("orders", "--timeout", "1", "--manager", url))
                            .isEqualTo(ExitStatus.UNREACHABLE));
            assertThat(err.toString()).contains("no manager could be reached").contains(url);
            paused.interrupt();
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0123456789\nabcdef-secret", "0123456789abcdef-sécret", "0123456789 abcdef-secret"})
    void aTokenThatNoHeaderCanCarryIsRefusedWithoutBeingPrinted(String token) throws IOException {
        Path file = Files.writeString(directory.resolve("token"), token);
        assertThat(ask("orders", "--token-file", file.toString())).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString())
                .isEqualTo(
                        "lite: the token in %s has a character that is not visible ASCII, which no header can carry\n"
                                .formatted(file));
        assertThat(manager.requests()).isEmpty();
    }

    @Test
    void aRefusalPrintsTheManagersMessage() {
        manager.with("POST /api/nodes/x/drain", 404, "{'detail':'node \\'x\\' is not live'}".replace("\\'", "*"));
        assertThat(ask("drain", "x")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString()).isEqualTo("lite: node *x* is not live\n");
    }

    @Test
    void theNextManagerIsAskedIfOneIsDownOrItsZooKeeperIsUnavailable() throws IOException {
        try (Socket refusing = new Socket(); // keeps its port from other managers, and does not listen
                FakeManager away = new FakeManager().with("GET /api/nodes?state=true", 503, "{'detail':'away'}")) {
            refusing.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            String goneUrl = "http://127.0.0.1:" + refusing.getLocalPort();
            manager.with("GET /api/nodes?state=true", 200, "[]");
            assertThat(lite("nodes", "--manager", goneUrl + "," + away.url() + "/," + manager.url()))
                    .isZero();
            assertThat(away.requests()).hasSize(1);

            assertThat(lite("nodes", "--manager", goneUrl)).isEqualTo(ExitStatus.UNREACHABLE);
            assertThat(err.toString()).contains("no manager could be reached").contains(goneUrl);
            assertThat(lite("nodes", "--manager", goneUrl + "," + away.url())).isEqualTo(ExitStatus.FAILED);
            assertThat(err.toString()).endsWith("lite: away\n");
        }
    }

    @Test
    void theTokenComesFromAFileAndAWrongTokenEndsWithExitStatusFour() throws IOException {
        manager.withToken("0123456789abcdef").with("GET /api/nodes?state=true", 200, "[]");
        Path file = Files.writeString(directory.resolve("token"), "0123456789abcdef\n");
        assertThat(ask("nodes", "--token-file", file.toString())).isZero();
        Files.writeString(file, "another-0123456789");
        assertThat(ask("nodes", "--token-file", file.toString())).isEqualTo(ExitStatus.DENIED);
        assertThat(err.toString()).contains("requires a token").doesNotContain("0123456789");
    }

    @Test
    void aTokenThatOthersOnTheNetworkCanReadIsSentWithOneWarning() throws IOException {
        manager.withToken("0123456789abcdef").with("GET /api/nodes?state=true", 200, "[]");
        String file = Files.writeString(directory.resolve("token"), "0123456789abcdef")
                .toString();
        String exposed = manager.url().replace("127.0.0.1", "0.0.0.0"); // this host, but no loopback address
        assertThat(lite("nodes", "--token-file", file, "--manager", exposed + "," + exposed))
                .isZero();
        assertThat(err.toString())
                .containsOnlyOnce("lite: warning: the token is sent to " + exposed + " unencrypted")
                .doesNotContain("0123456789");
    }

    @Test
    void noWarningIsPrintedWithoutATokenNorForThisHostOrHttps() throws IOException {
        manager.with("GET /api/nodes?state=true", 200, "[]");
        String file = Files.writeString(directory.resolve("token"), "0123456789abcdef")
                .toString();
        assertThat(lite("nodes", "--manager", manager.url().replace("127.0.0.1", "0.0.0.0")))
                .isZero();
        String managers = manager.url() + ",http://localhost:1,http://[::1]:1,https://0.0.0.0:1";
        assertThat(lite("nodes", "--token-file", file, "--manager", managers)).isZero();
        assertThat(err.toString()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8})
    void anEventThatIsTooLongForThisCommandIsRefused(int lines) {
        String line = "data:" + "x".repeat(AnswerText.BYTES_MAX / lines) + "\n";
        manager.with("GET /api/events", 200, "data:'\n" + line.repeat(lines) + "data:'\n\n");
        assertThat(ask("watch", "--for", "60s")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString())
                .isEqualTo("lite: %s: the answer has more than 8388608 bytes, the limit of this command%n"
                        .formatted(manager.url()));
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void anEventThatIsNotJsonIsReportedAsSuchAndNotAsALostConnection() {
        manager.with("GET /api/events", 200, "data:{}\n\ndata:<html>\n\n");
        assertThat(ask("watch", "--for", "60s")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString())
                .isEqualTo("lite: %s sent an event that is not JSON; is it a manager?%n".formatted(manager.url()));
    }

    @Test
    void theAnswerOfAManagerWithoutZooKeeperKeepsNoConnectionWhenAnotherOneSendsTheEvents() throws IOException {
        manager.with("GET /api/events", 200, "id:m-1\nevent:nodes\ndata:{}\n\n");
        CountDownLatch closed = new CountDownLatch(1);
        try (ServerSocket away = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread answering = Thread.ofVirtual().start(() -> {
                try (Socket client = away.accept()) {
                    client.getOutputStream()
                            .write("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 99\r\n\r\n"
                                    .getBytes(StandardCharsets.US_ASCII));
                    long unused = client.getInputStream().transferTo(OutputStream.nullOutputStream());
                } catch (IOException e) {
                    // The client has reset the connection.
                }
                closed.countDown();
            });
            List<URI> managers =
                    List.of(URI.create("http://127.0.0.1:" + away.getLocalPort()), URI.create(manager.url()));
            try (ManagerClient client = new ManagerClient(managers, null, Waits.seconds(20));
                    InputStream events = client.stream("/api/events", null)) {
                assertThat(events.read()).isEqualTo('i');
                Waits.await(closed);
            }
            Waits.join(answering);
        }
    }

    @Test
    void anAnswerThatIsTooLongForThisCommandIsRefused() throws IOException {
        manager.with("GET /api/nodes?state=true", 200, "[" + " ".repeat(AnswerText.BYTES_MAX) + "]");
        assertThat(ask("nodes")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString())
                .isEqualTo("lite: %s: the answer has more than 8388608 bytes, the limit of this command%n"
                        .formatted(manager.url()));
    }

    @Test
    void anAnswerWithoutJsonIsReported() {
        manager.with("GET /api/nodes?state=true", 200, "<html>");
        assertThat(ask("nodes")).isEqualTo(ExitStatus.FAILED);
        assertThat(err.toString()).contains("without JSON; is it a manager?");
    }
}
