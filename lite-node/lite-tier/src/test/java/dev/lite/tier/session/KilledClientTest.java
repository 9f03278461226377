package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** An application in its own process. */
@Isolated("it counts the threads or the memory of its process")
class KilledClientTest {
    @TempDir
    Path directory;

    @Test
    void anApplicationKilledDuringItsWorkLeavesNothingBehindAndDisturbsNoOther() throws Exception {
        try (FakeBackend backend = new FakeBackend();
                SessionServer server = new SessionServer(SessionServerConfig.of(directory.resolve("s")), backend)) {
            server.start();
            try (Lite lite = Lite.attach(AttachOptions.to(server.socket(), "survivor"));
                    LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64).withName("counter"))) {
                Process victim = startVictim(server.socket());
                try {
                    // The victim increments the word in a tight loop.
                    Waits.until("the victim counts", () -> lmr.fetchAdd(0, 0) > 1_000 || !victim.isAlive());
                    assertThat(victim.isAlive()).isTrue();
                    assertThat(server.sessions()).extracting(SessionInfo::pid).contains((int) victim.pid());
                } finally {
                    victim.destroyForcibly();
                }
                assertThat(victim.waitFor(10, TimeUnit.SECONDS)).isTrue();
                Waits.until("its session is gone", () -> backend.sessionsClosed.get() == 1);
                Waits.until("only one session is left", () -> server.sessions().size() == 1);
                long counted = lmr.fetchAdd(0, 0);
                lmr.write(8, new byte[] {42});
                byte[] read = new byte[1];
                lmr.read(8, read);
                assertThat(read).containsExactly(42);
                assertThat(lmr.fetchAdd(0, 0)).isEqualTo(counted);
                assertThat(Thread.getAllStackTraces().keySet().stream()
                                .filter(thread -> thread.getName().endsWith("-data")))
                        .hasSize(1);
            }
        }
    }

    private static Process startVictim(Path socket) throws IOException {
        return new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseSerialGC",
                        "-Xmx64m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Victim.class.getName(),
                        socket.toString()))
                .inheritIO()
                .start();
    }

    /** The application that is killed. It ends by itself after a minute. */
    static final class Victim {
        private Victim() {}

        public static void main(String[] arguments) {
            long endNs = System.nanoTime() + Duration.ofMinutes(1).toNanos();
            try (Lite lite = Lite.attach(AttachOptions.to(Path.of(arguments[0]), "victim"))) {
                LmrHandle lmr = lite.memory().map("counter", Permission.ATOMIC, Permission.WRITE);
                while (System.nanoTime() - endNs < 0) {
                    lmr.fetchAdd(0, 1);
                    lmr.write(16, new byte[16]);
                }
            }
        }
    }
}
