package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.manager.RunningManager;
import dev.lite.manager.data.ManagerSession;
import dev.lite.manager.data.SessionWithLostMemory;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.testing.Waits;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.coyote.CloseNowException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.web.ErrorResponseException;

/** Requests for LMRs of which a part is on a node that is lost or cannot be reached. */
@Isolated("it starts a manager in its process")
class LostMemoryTest {
    @TempDir
    static Path work;

    private static RunningManager manager;

    @BeforeAll
    static void start() {
        manager = new RunningManager(work, "--spring.main.sources=" + SessionWithLostMemory.class.getName());
    }

    @AfterAll
    static void stop() {
        manager.close();
    }

    @Test
    void theAnswerToAReadThatFailsSaysWhy() throws IOException, InterruptedException {
        HttpResponse<String> answer = manager.get("/api/lmrs/a/content");

        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).isEqualTo("a node is lost");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "GET|/content|``",
                "PUT|/content|bytes",
                "DELETE|``|``",
                "POST|/grants|{'principal': 'p', 'permissions': ['READ']}",
            })
    void anLmrWhoseNodeCannotBeReachedIsNotReportedAsMissing(String method, String path, String body)
            throws IOException, InterruptedException {
        HttpResponse<String> answer = manager.send(HttpRequest.newBuilder(
                        manager.uri("/api/lmrs/" + SessionWithLostMemory.AWAY + path))
                .header("Content-Type", path.equals("/content") ? "application/octet-stream" : "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body.replace('\'', '"'))));

        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(503);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).isEqualTo("a node is away");
    }

    @Test
    void aBodyThatArrivesByteByByteEndsItsRequestAtTheLimitForAllOfIt() {
        DataController controller = new DataController(
                manager.bean(ManagerSession.class), manager.bean(ClusterDirectory.class), Duration.ofNanos(1));
        ServletInputStream trickling = new ServletInputStream() {
            @Override
            public int read() {
                return 'x';
            }

            @Override
            public int read(byte[] into, int offset, int length) {
                into[offset] = 'x';
                return 1;
            }

            @Override
            public boolean isFinished() {
                return false;
            }

            @Override
            public boolean isReady() {
                return true;
            }

            @Override
            public void setReadListener(ReadListener listener) {
                throw new UnsupportedOperationException("not used here");
            }
        };
        HttpServletRequest request = (HttpServletRequest) Proxy.newProxyInstance(
                HttpServletRequest.class.getClassLoader(),
                new Class<?>[] {HttpServletRequest.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getContentLengthLong" -> 1L << 20;
                    case "getInputStream" -> trickling;
                    default -> throw new UnsupportedOperationException(method.toString());
                });

        assertThatThrownBy(() -> controller.write("a", 0, request))
                .isInstanceOfSatisfying(ErrorResponseException.class, refused -> {
                    assertThat(refused.getStatusCode().value()).isEqualTo(408);
                    assertThat(refused.getBody().getDetail()).contains("the request's body was not complete after");
                });
    }

    @Test
    void anAnswerThatItsClientDoesNotTakeEndsItsRequestAtTheLimitForAllOfIt() {
        DataController controller = new DataController(
                manager.bean(ManagerSession.class), manager.bean(ClusterDirectory.class), Duration.ofMillis(1));
        AtomicLong taken = new AtomicLong();
        ServletOutputStream slow = new ServletOutputStream() {
            @Override
            public void write(int octet) {
                taken.incrementAndGet();
            }

            @Override
            public void write(byte[] from, int offset, int length) {
                Waits.pass(Duration.ofMillis(1));
                taken.addAndGet(length);
            }

            @Override
            public boolean isReady() {
                return true;
            }

            @Override
            public void setWriteListener(WriteListener listener) {
                throw new UnsupportedOperationException("not used here");
            }
        };
        HttpServletRequest request = (HttpServletRequest) Proxy.newProxyInstance(
                HttpServletRequest.class.getClassLoader(),
                new Class<?>[] {HttpServletRequest.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getAttribute" -> Client.LOCAL;
                    default -> throw new UnsupportedOperationException(method.toString());
                });
        HttpServletResponse response = (HttpServletResponse) Proxy.newProxyInstance(
                HttpServletResponse.class.getClassLoader(),
                new Class<?>[] {HttpServletResponse.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "setContentType", "setContentLengthLong" -> null;
                    case "getOutputStream" -> slow;
                    default -> throw new UnsupportedOperationException(method.toString());
                });

        assertThatThrownBy(() -> controller.read(SessionWithLostMemory.WHOLE, 0, null, request, response))
                .isInstanceOf(CloseNowException.class);
        assertThat(taken).hasValueLessThan(SessionWithLostMemory.BYTES);
    }

    @ParameterizedTest
    @CsvSource({"known, 503", "unknown, 404"})
    void aNodeThatIsAwayIsNotReportedAsUnknownWhenItShallStoreANewLmr(String node, int status)
            throws IOException, InterruptedException {
        String zookeeper = manager.bean(EmbeddedZooKeeper.class).connectString();
        try (CuratorDirectory former = CuratorDirectory.open(CuratorConfig.of(zookeeper, "lite"))) {
            Object unused = former.register(
                    new NodeAdvert("known", NodeAdvert.NO_ID, "host/boot", 100, Map.of()), RunningManager.DEADLINE);
        }
        ClusterDirectory directory = manager.bean(ClusterDirectory.class);
        Waits.until(
                "the manager sees that it left",
                () -> directory.nodes().isEmpty()
                        && directory.epoch().removals().stream()
                                .anyMatch(removal -> removal.name().equals("known")));

        HttpResponse<String> answer = manager.send(HttpRequest.newBuilder(manager.uri("/api/lmrs"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(
                        "{\"name\": \"new\", \"bytes\": 8, \"nodes\": [\"%s\"]}".formatted(node))));

        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).isEqualTo("a node takes no memory");
    }
}
