package dev.lite.demo.app;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.demo.app.DemoProperties.Role;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.DefaultApplicationArguments;

class RolesTest {

    @TempDir
    Path directory;

    private final HeapMemory memory = new HeapMemory();
    private final SplittableRandom random = new SplittableRandom(7);
    private Path file = Path.of("");

    @BeforeEach
    void makeFile() throws IOException {
        file = directory.resolve("file");
        byte[] bytes = new byte[9 << 20];
        random.nextBytes(bytes);
        Files.write(file, bytes);
    }

    @Test
    void bothTogetherFindTheSameBytesAndCountEveryWordOnce() throws IOException, InterruptedException {
        StoreRole store = store(Duration.ofSeconds(20), false);
        CountRole count = count(Duration.ofSeconds(20));
        Thread other = Thread.ofPlatform().start(() -> count.run(new DefaultApplicationArguments()));
        store.run(new DefaultApplicationArguments());
        other.join(20_000);

        Properties stored = results("STORE");
        Properties counted = results("COUNT");
        assertThat(store.getExitCode()).isZero();
        assertThat(count.getExitCode()).isZero();
        assertThat(counted.getProperty("sha256")).isEqualTo(stored.getProperty("sha256"));
        byte[] bytes = Files.readAllBytes(file);
        WordCounter whole = new WordCounter(WordRule.ANY);
        whole.add(bytes, 0, bytes.length);
        assertThat(counted.getProperty("words")).isEqualTo(Long.toString(whole.words()));
        assertThat(stored.getProperty("latencies")).isEqualTo("11");
        assertThat(memory.names()).isEmpty();
    }

    @Test
    void aByteThatChangedInRemoteMemoryIsFoundOut() throws IOException, InterruptedException {
        StoreRole store = store(Duration.ofSeconds(20), true);
        Thread other = Thread.ofPlatform().start(() -> store.run(new DefaultApplicationArguments()));
        Control control = Control.await(memory, Duration.ofSeconds(20));
        control.awaitAtLeast(Control.Word.COUNTED, 1);
        memory.flip(Control.FILE, 5 << 20);
        CountRole count = count(Duration.ofSeconds(20));
        count.run(new DefaultApplicationArguments());
        other.join(20_000);
        assertThat(count.getExitCode()).isEqualTo(DemoRole.STATUS_DIFFERENT);
        assertThat(results("COUNT").getProperty("comparison.0.held")).isEqualTo("true");
        assertThat(results("COUNT").getProperty("comparison.1.held")).isEqualTo("false");
        assertThat(memory.names()).containsExactlyInAnyOrder(Control.FILE, "demo/control");
    }

    @Test
    void withoutTheOtherEachGivesUpAtTheDeadline() {
        StoreRole store = store(Duration.ofMillis(100), false);
        store.run(new DefaultApplicationArguments());
        assertThat(store.getExitCode()).isEqualTo(1);
        assertThat(directory.resolve("STORE")).doesNotExist();
        CountRole count = new CountRole(
                properties(Role.COUNT, Duration.ofMillis(100), false), new HeapMemory().session("b"), new HeapMemory());
        count.run(new DefaultApplicationArguments());
        assertThat(count.getExitCode()).isEqualTo(1);
    }

    private StoreRole store(Duration deadline, boolean keep) {
        return new StoreRole(properties(Role.STORE, deadline, keep), memory.session("a"), memory);
    }

    private CountRole count(Duration deadline) {
        return new CountRole(properties(Role.COUNT, deadline, false), memory.session("b"), memory);
    }

    private DemoProperties properties(Role role, Duration deadline, boolean keep) {
        return new DemoProperties(
                role, file, directory.resolve(role.name()), WordRule.ANY, keep, deadline, Duration.ofMillis(5));
    }

    private Properties results(String name) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(directory.resolve(name))) {
            properties.load(reader);
        }
        return properties;
    }
}
