package dev.lite.helm;

import static dev.lite.helm.KubernetesObject.map;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command that says whether a server of the bundled ZooKeeper is ready, beside what answers as ZooKeeper 3.9 does. */
class ZooKeeperProbeTest {
    private static final Pattern PORT = Pattern.compile("\\b2181\\b");

    /** With one server after the other, an update takes two of three away if the first is ready before it belongs to a quorum. */
    @ParameterizedTest
    @CsvSource({
        "This ZooKeeper instance is not currently serving requests, false",
        "Mode: follower, true",
        "Mode: leader, true",
    })
    void aServerIsReadyWhenItBelongsToAQuorum(String answer, boolean ready) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
            CompletableFuture<String> asked =
                    CompletableFuture.supplyAsync(() -> answer(server, answer), Thread::startVirtualThread);
            assertThat(isReady(server.getLocalPort())).isEqualTo(ready);
            assertThat(asked).succeedsWithin(Waits.seconds(20)).isEqualTo("srvr");
        }
    }

    @Test
    void aServerThatDoesNotListenIsNotReady() throws Exception {
        int port;
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
            port = server.getLocalPort();
        }
        assertThat(isReady(port)).isFalse();
    }

    private static String answer(ServerSocket server, String text) {
        try (Socket client = server.accept()) {
            String asked = new String(client.getInputStream().readNBytes(4), StandardCharsets.US_ASCII);
            String version = text.startsWith("Mode") ? "Zookeeper version: 3.9.5\nZxid: 0x0\n" : "";
            client.getOutputStream().write((version + text + "\n").getBytes(StandardCharsets.US_ASCII));
            return asked;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isReady(int port) throws IOException, InterruptedException {
        KubernetesObject servers = ValueSets.object(ValueSets.objects("bundled"), "StatefulSet", "-zookeeper");
        Map<String, Object> probe = map(servers.containers().getFirst(), "readinessProbe", "exec");
        Object command = probe.get("command");
        assertThat(command).as("the command of the probe").isInstanceOf(List.class);
        List<String> words = ((List<?>) Objects.requireNonNull(command))
                .stream()
                        .map(word -> PORT.matcher(String.valueOf(word)).replaceAll(Integer.toString(port)))
                        .toList();
        Process process = new ProcessBuilder(words).inheritIO().start();
        assertThat(process.waitFor(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS))
                .isTrue();
        return process.exitValue() == 0;
    }
}
