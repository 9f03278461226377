package dev.lite.demo.app;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.demo.app.DemoProperties.Role;
import dev.lite.demo.app.DemoRole.Meeting;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.DefaultApplicationArguments;

/** The roles in one process, each with its own session and its own node. */
class RolesTest {

    private static final Duration LONG = Waits.seconds(20);
    private static final Duration SHORT = Waits.seconds(0.3);

    @TempDir
    Path directory;

    private final SplittableRandom random = new SplittableRandom(7);
    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final List<LiteNode> nodes = new ArrayList<>();
    private final List<Lite> sessions = new ArrayList<>();
    private Path file = Path.of("");

    @BeforeEach
    void start() throws IOException {
        file = directory.resolve("file");
        byte[] bytes = new byte[9 << 20];
        random.nextBytes(bytes);
        Files.write(file, bytes);
        for (int number = 1; number <= DemoRole.PARTIES; number++) {
            LiteNodeConfig config = LiteNodeConfig.builder(
                            "roles", "node-" + number, 32 << 20, directory.resolve("run-" + number))
                    .arena(directory.resolve("arenas"), false)
                    .build();
            LiteNode node = LiteNode.start(config, store.open(), List.of(new ShmFabricProvider()));
            nodes.add(node);
            sessions.add(node.attach("demo"));
        }
    }

    @AfterEach
    void stop() {
        sessions.forEach(Lite::close);
        nodes.forEach(LiteNode::close);
    }

    @Test
    void theRolesFindTheSameBytesAndCountEveryWordOnce() throws IOException, InterruptedException {
        List<DemoRole> roles = List.of(store(LONG, false), compare(LONG), serve());
        List<Thread> others = runAll(roles.subList(1, roles.size()));
        run(roles.getFirst());
        for (Thread other : others) {
            other.join(LONG);
        }

        assertThat(roles).allSatisfy(role -> assertThat(role.getExitCode()).isZero());
        Properties stored = results(Role.STORE);
        Properties compared = results(Role.COMPARE);
        assertThat(compared.getProperty("sha256")).isEqualTo(stored.getProperty("sha256"));
        String words = Long.toString(words());
        assertThat(compared.getProperty("words")).isEqualTo(words);
        assertThat(stored.getProperty("words.replied")).isEqualTo(words);
        assertThat(stored.getProperty("counted")).isEqualTo("3");
        assertThat(stored.getProperty("comparison.0.held")).isEqualTo("true");
        assertThat(stored.getProperty("latencies")).isEqualTo("11");
        assertThat(stored).doesNotContainValue("false");
        assertThat(names()).isEmpty();
    }

    private List<String> names() {
        try (InMemoryDirectory directory = store.open()) {
            return directory.names("demo/", 10, LONG);
        }
    }

    @Test
    void aChangedByteInRemoteMemoryIsDetected() throws InterruptedException, IOException {
        DemoRole store = store(LONG, true);
        DemoRole compare = compare(LONG);
        List<Thread> others = runAll(List.of(store, compare));
        // This test plays a third role, so that it can change a byte after the file was stored and before it is read.
        Lite third = sessions.get(2);
        try (Control control = Control.await(third.memory(), LONG);
                LmrHandle stored = third.memory().map(Control.FILE, Permission.READ, Permission.WRITE)) {
            DemoRole role = serve();
            try (var server = role.calls(stored, control).serve()) {
                assertThat(server.function()).isEqualTo("demo/count-words");
                awaitStored(control);
                byte[] one = new byte[1];
                stored.read(5 << 20, one);
                one[0] ^= 1;
                stored.write(5 << 20, one);
                for (Meeting meeting : Meeting.values()) {
                    role.meet(meeting, 0);
                }
            }
        }
        for (Thread other : others) {
            other.join(LONG);
        }
        assertThat(compare.getExitCode()).isEqualTo(DemoRole.STATUS_DIFFERENT);
        assertThat(results(Role.COMPARE).getProperty("comparison.0.held")).isEqualTo("true");
        assertThat(results(Role.COMPARE).getProperty("comparison.1.held")).isEqualTo("false");
        assertThat(names()).as("the file is kept").containsExactly("demo/control", Control.FILE);
    }

    @Test
    void withoutTheOthersEachRoleFailsAtItsDeadline() {
        DemoRole compare = compare(SHORT);
        run(compare);
        assertThat(compare.getExitCode()).isEqualTo(1);
        DemoRole store = store(SHORT, false);
        run(store);
        assertThat(store.getExitCode()).isEqualTo(1);
        assertThat(directory.resolve(Role.STORE.name())).doesNotExist();
    }

    private void awaitStored(Control control) throws IOException {
        long endNs = System.nanoTime() + LONG.toNanos();
        while (control.get(Control.Word.STORED) < Files.size(file)) {
            assertThat(System.nanoTime()).isLessThan(endNs);
            Thread.onSpinWait();
        }
    }

    private static void run(DemoRole role) {
        role.run(new DefaultApplicationArguments());
    }

    private static List<Thread> runAll(List<DemoRole> roles) {
        return roles.stream()
                .map(role -> Thread.ofPlatform().start(() -> run(role)))
                .toList();
    }

    private long words() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        WordCounter whole = new WordCounter(WordRule.ANY);
        whole.add(bytes, 0, bytes.length);
        return whole.words();
    }

    private DemoRole store(Duration deadline, boolean keep) {
        return new StoreRole(properties(Role.STORE, deadline, keep), sessions.getFirst());
    }

    private DemoRole compare(Duration deadline) {
        return new CompareRole(properties(Role.COMPARE, deadline, false), sessions.get(1));
    }

    private DemoRole serve() {
        return new ServeRole(properties(Role.SERVE, LONG, false), sessions.get(2));
    }

    private DemoProperties properties(Role role, Duration deadline, boolean keep) {
        return new DemoProperties(
                role, file, directory.resolve(role.name()), WordRule.ANY, keep, deadline, Duration.ofMillis(5));
    }

    private Properties results(Role role) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(directory.resolve(role.name()))) {
            properties.load(reader);
        }
        return properties;
    }
}
