package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.manager.RunningManager;
import dev.lite.testing.Certificates;
import dev.lite.testing.TrickledRequest;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.web.ErrorResponseException;

/** Clients that take the manager's places. */
@Isolated("it starts managers in its process")
class HostileClientsTest {
    private static final String TOKEN = "0123456789abcdef";
    /** The type of a TLS record, its version, its length and its first byte. */
    private static final byte[] HANDSHAKE = {22, 3, 1, 1, 0, 1};

    @TempDir
    Path work;

    private static List<Socket> halfRequests(int port, int count) throws IOException {
        List<Socket> sockets = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            sockets.add(socket);
            socket.getOutputStream()
                    .write("GET /api/nodes HTTP/1.1\r\nHost: localhost\r\n".getBytes(StandardCharsets.US_ASCII));
        }
        return sockets;
    }

    @Test
    void halfRequestsStopNeitherOthersNorTheProbes() throws IOException, InterruptedException {
        try (RunningManager manager = new RunningManager(work)) {
            List<Socket> half = halfRequests(manager.port(), 400);
            try {
                for (int i = 0; i < 20; i++) {
                    assertThat(manager.get("/api/nodes").statusCode()).isEqualTo(200);
                    assertThat(manager.get("/actuator/health/liveness").statusCode())
                            .isEqualTo(200);
                }
            } finally {
                for (Socket socket : half) {
                    socket.close();
                }
            }
        }
    }

    @Test
    void halfRequestsDoNotRefuseOthersWhileTheThreadsThatServeRequestsAreLate() throws IOException {
        try (RunningManager manager = new RunningManager(work)) {
            CountDownLatch served = new CountDownLatch(1);
            List<Socket> half = List.of();
            try {
                Executor threads = manager.requestThreads();
                for (int i = 0; i < manager.property("server.tomcat.threads.max", Integer.class); i++) {
                    threads.execute(() -> Waits.await(served));
                }
                half = halfRequests(manager.port(), 400);
                try (Socket other = halfRequests(manager.port(), 1).getFirst()) {
                    other.getOutputStream().write("Connection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                    other.setSoTimeout(Math.toIntExact(RunningManager.DEADLINE.toMillis()));
                    served.countDown();
                    assertThat(new String(other.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                            .startsWith("HTTP/1.1 200");
                }
            } finally {
                served.countDown();
                for (Socket socket : half) {
                    socket.close();
                }
            }
        }
    }

    @Test
    void halfTlsHandshakesDoNotStopOthers() throws IOException, InterruptedException {
        Certificates.Authority authority = Certificates.authority(work);
        SSLContext client = authority.issue("client", "client", 0, 2);
        Object unusedServer = authority.issue("manager", "localhost", 0, 2);
        String bundle = "--spring.ssl.bundle.jks.web.keystore.";
        try (RunningManager manager = new RunningManager(
                        work,
                        "--server.ssl.bundle=web",
                        bundle + "location=file:" + authority.store("manager"),
                        bundle + "password=" + Certificates.PASSWORD);
                HttpClient https = HttpClient.newBuilder().sslContext(client).build()) {
            List<Socket> half = new ArrayList<>();
            try {
                for (int i = 0; i < 400; i++) {
                    Socket socket = new Socket(InetAddress.getLoopbackAddress(), manager.port());
                    half.add(socket);
                    socket.getOutputStream().write(HANDSHAKE); // the begin of a longer record
                }
                HttpRequest request = HttpRequest.newBuilder(
                                URI.create("https://localhost:%d/api/nodes".formatted(manager.port())))
                        .timeout(RunningManager.DEADLINE)
                        .build();
                for (int i = 0; i < 20; i++) {
                    assertThat(https.send(request, HttpResponse.BodyHandlers.ofString())
                                    .statusCode())
                            .isEqualTo(200);
                }
            } finally {
                for (Socket socket : half) {
                    socket.close();
                }
            }
        }
    }

    @Test
    void aPortOfTheirOwnServesTheProbesAndRequiresTheTokenForTheRest() throws IOException, InterruptedException {
        Path file = Files.writeString(work.resolve("token"), TOKEN);
        try (RunningManager manager = new RunningManager(
                work,
                "--lite.manager.token-file=" + file,
                "--management.server.port=0",
                "--management.server.address=0.0.0.0")) {
            int port = manager.property("local.management.port", Integer.class);
            assertThat(port).isNotEqualTo(manager.port());
            assertThat(status(manager, port, "/actuator/health/liveness", "")).isEqualTo(200);
            assertThat(status(manager, port, "/actuator/health", "")).isEqualTo(401);
            assertThat(status(manager, port, "/actuator/metrics", "")).isEqualTo(401);
            assertThat(status(manager, port, "/actuator/metrics", "Bearer " + TOKEN))
                    .isEqualTo(200);
            assertThat(status(manager, manager.port(), "/api/nodes", "")).isEqualTo(401);
        }
    }

    private static int status(RunningManager manager, int port, String path, String authorization)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:%d%s".formatted(port, path)));
        if (!authorization.isEmpty()) {
            request.header("Authorization", authorization);
        }
        return manager.send(request).statusCode();
    }

    @Test
    void aHeaderThatArrivesByteByByteEndsItsConnection() throws IOException {
        try (RunningManager manager = new RunningManager(work, "--server.tomcat.connection-timeout=500ms")) {
            TrickledRequest.awaitEnd(manager.port());
        }
    }

    @Test
    void bodiesThatNeverArriveTakeNoThreadsFromOthers() throws IOException, InterruptedException {
        try (RunningManager manager =
                new RunningManager(work, "--lite.manager.token=" + TOKEN, "--server.tomcat.connection-timeout=1h")) {
            List<Socket> sockets = new ArrayList<>();
            try {
                for (int i = 0; i < 64; i++) {
                    Socket socket = new Socket(InetAddress.getLoopbackAddress(), manager.port());
                    sockets.add(socket);
                    socket.getOutputStream()
                            .write("POST /api/rebalance HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n"
                                    .getBytes(StandardCharsets.US_ASCII));
                }
                for (int i = 0; i < 20; i++) {
                    assertThat(status(manager, manager.port(), "/api/nodes", "Bearer " + TOKEN))
                            .isEqualTo(200);
                }
            } finally {
                for (Socket socket : sockets) {
                    socket.close();
                }
            }
        }
    }

    @Test
    void bodiesThatNobodyReadsTakeNoThreadsFromOthers() throws IOException, InterruptedException {
        try (RunningManager manager =
                new RunningManager(work, "--lite.manager.token=" + TOKEN, "--server.tomcat.connection-timeout=1h")) {
            List<Socket> sockets = new ArrayList<>();
            try {
                for (String body : new String[] {"Content-Length: 60000", "Transfer-Encoding: chunked"}) {
                    for (int i = 0; i < 32; i++) {
                        Socket socket = new Socket(InetAddress.getLoopbackAddress(), manager.port());
                        sockets.add(socket);
                        // A probe needs no token, and the body never arrives.
                        socket.getOutputStream()
                                .write("GET /actuator/health/liveness HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n"
                                        .formatted(body)
                                        .getBytes(StandardCharsets.US_ASCII));
                    }
                }
                for (int i = 0; i < 20; i++) {
                    assertThat(status(manager, manager.port(), "/api/nodes", "Bearer " + TOKEN))
                            .isEqualTo(200);
                }
                HttpRequest.Builder complete = HttpRequest.newBuilder(manager.uri("/actuator/health/liveness"))
                        .method("GET", HttpRequest.BodyPublishers.ofString("{}"));
                HttpResponse<String> refused = manager.send(complete);
                assertThat(refused.statusCode()).isEqualTo(400);
                assertThat(refused.body()).contains("\"detail\":\"the request only reads, so it must have no body\"");
            } finally {
                for (Socket socket : sockets) {
                    socket.close();
                }
            }
        }
    }

    @Test
    void oneClientDoesNotTakeAllEventStreams() {
        var second = Waits.seconds(1);
        EventLog log = new EventLog("abc", new WebProperties.Events(16, 1, 1, second, second));
        for (int i = 0; i < 8; i++) {
            assertThat(log.subscribe(null, "greedy").isDone()).isFalse();
        }
        assertThatThrownBy(() -> log.subscribe(null, "greedy"))
                .isInstanceOf(ErrorResponseException.class)
                .hasMessageContaining("503");
        assertThat(log.subscribe(null, "other").isDone()).isFalse();
    }

    @Test
    void theAddressesOfOneIpv6NetworkDoNotTakeAllEventStreams() {
        var second = Waits.seconds(1);
        EventLog log = new EventLog("abc", new WebProperties.Events(16, 1, 1, second, second));
        for (int i = 0; i < 8; i++) {
            assertThat(log.subscribe(null, "2001:db8:0:1:0:0:0:" + i).isDone()).isFalse();
        }
        assertThatThrownBy(() -> log.subscribe(null, "2001:db8:0:1:0:0:0:8"))
                .isInstanceOf(ErrorResponseException.class)
                .hasMessageContaining("503");
        assertThat(log.subscribe(null, "2001:db8:0:2:0:0:0:1").isDone()).isFalse();
    }
}
