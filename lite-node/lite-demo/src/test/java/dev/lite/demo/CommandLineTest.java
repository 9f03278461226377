package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command {@code lite} as a user runs it: its wrapper script with the executable jars of this build. */
class CommandLineTest {
    private static final long DEADLINE_SECONDS = Waits.seconds(120).toSeconds();
    private static final String NAME = "cli-" + ProcessHandle.current().pid();

    @TempDir
    Path home;

    /** More variables of the environment. */
    private final Map<String, String> variables = new HashMap<>();

    @AfterEach
    void end() throws IOException, InterruptedException {
        if (Files.exists(home.resolve("clusters"))) {
            lite("down", "--name", NAME);
        }
    }

    private record Ended(int status, String output) {}

    private Process start(Path output, String... arguments) throws IOException {
        String[] command = new String[arguments.length + 1];
        command[0] = System.getProperty("lite.command");
        System.arraycopy(arguments, 0, command, 1, arguments.length);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("LITE_HOME", home.toString());
        builder.environment().remove("LITE_MANAGER");
        builder.environment().putAll(variables);
        return builder.start();
    }

    private Ended lite(String... arguments) throws IOException, InterruptedException {
        Path output = home.resolve("output");
        Process process = start(output, arguments);
        assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return new Ended(process.exitValue(), Files.readString(output, StandardCharsets.UTF_8));
    }

    @Test
    void aClusterIsStartedInspectedAndStoppedWithoutLeavingAnything() throws IOException, InterruptedException {
        Ended up = lite("up", "--nodes", "2", "--name", NAME);
        assertThat(up.status()).as(up.output()).isZero();
        Path work = home.resolve("clusters").resolve(NAME);
        assertThat(up.output()).contains("socket " + work.resolve("run/node-2/node.sock"));

        Ended again = lite("up", "--name", NAME);
        assertThat(again.status()).isEqualTo(1);
        assertThat(again.output()).contains("is already running");

        Ended status = lite("status");
        assertThat(status.output()).contains("cluster    " + NAME).contains("nodes      2, 0 draining");
        assertThat(status.status()).as(status.output()).isZero();
        Ended nodes = lite("nodes");
        assertThat(nodes.output()).contains("node-1 ", "node-2 ");
        Ended lmrs = lite("lmrs", "--json");
        assertThat(lmrs.output().strip()).isEqualTo("[ ]");
        assertThat(lite("env", "--name", NAME, "--node", "node-2").output())
                .contains("LITE_CLIENT_SOCKET=" + work.resolve("run/node-2/node.sock"))
                .contains("LITE_MANAGER=http://127.0.0.1:", "LITE_EMBEDDED_CLUSTER=" + NAME);
        Ended restart = lite("restart", "node-2", "--name", NAME);
        assertThat(restart.output()).contains("node-2 is stopped", "node-2 is ready");
        Ended stop = lite("stop", "node-9", "--name", NAME);
        assertThat(stop.status()).isEqualTo(2);
        assertThat(stop.output()).contains("no process \"node-9\"; it has [manager, node-1, node-2]");
        Ended drain = lite("drain", "node-9");
        assertThat(drain.status()).isEqualTo(1);
        assertThat(drain.output()).contains("node \"node-9\" is not live; the live nodes are [");

        runsAJob();

        Ended down = lite("down", "--name", NAME);
        assertThat(down.status()).as(down.output()).isZero();
        assertThat(work).doesNotExist();
        assertThat(Path.of("/dev/shm/lite", NAME)).doesNotExist();
        assertThat(lite("status").status()).isEqualTo(3);
        assertThat(lite("down", "--name", NAME).status()).isEqualTo(1);
    }

    /** A user's jar, two workers beside the two nodes, and nothing left. */
    private void runsAJob() throws IOException, InterruptedException {
        Path jar = jarWith(LineLengths.class);
        Path text = Files.writeString(home.resolve("text"), "one\nthree\n\ntwo\n");
        Path out = home.resolve("lengths");
        String[] job = {
            "mr", "run", jar.toString(), "--name", NAME, "--input", text.toString(), "--output", out.toString()
        };
        Ended run = lite(with(job, "--set", "least=1"));
        assertThat(run.status()).as(run.output()).isZero();
        assertThat(out).hasContent("003\t2\n005\t1\n");
        assertThat(run.output())
                .contains("100 % map 1/1 reduce 4/4 merge 3/3", "counter records = 4")
                .contains("at node-", "2 pairs in " + out);
        Ended wrong = lite(with(job, "--set", "least=x"));
        assertThat(wrong.status()).isEqualTo(1);
        assertThat(wrong.output()).contains("lite: ", "least").doesNotContain("defect");
        assertThat(lite("lmrs", "--json").output().strip()).isEqualTo("[ ]");
    }

    private static String[] with(String[] line, String... more) {
        return Stream.concat(Arrays.stream(line), Arrays.stream(more)).toArray(String[]::new);
    }

    private Path jarWith(Class<?> type) throws IOException {
        Path jar = home.resolve("job.jar");
        String name = type.getName().replace('.', '/') + ".class";
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
                InputStream content = type.getClassLoader().getResourceAsStream(name)) {
            out.putNextEntry(new ZipEntry(name));
            Objects.requireNonNull(content).transferTo(out);
        }
        return jar;
    }

    @Test
    void aStartThatWasKilledIsReplacedOnceItsProcessesHaveEnded() throws IOException, InterruptedException {
        Path output = home.resolve("killed");
        Process up = start(output, "up", "--nodes", "1", "--name", NAME);
        Waits.until("it starts its first process", () -> processes().findAny().isPresent());
        up.destroyForcibly();
        assertThat(up.waitFor()).as(Files.readString(output)).isNotZero();

        Ended refused = lite("up", "--nodes", "1", "--name", NAME);
        assertThat(refused.status()).as(refused.output()).isEqualTo(1);
        assertThat(refused.output())
                .contains("the start of the cluster \"" + NAME + "\" was killed", "manager (process ")
                .contains("lite down --name " + NAME);

        List<ProcessHandle> left = processes().toList();
        left.forEach(ProcessHandle::destroyForcibly);
        Waits.until("they have ended", () -> processes().findAny().isEmpty());
        Ended replaced = lite("up", "--nodes", "1", "--name", NAME);
        assertThat(replaced.status()).as(replaced.output()).isZero();
        assertThat(replaced.output()).contains("Removed what was left of a start of this cluster that was killed");
    }

    /** The processes of the cluster. */
    private static Stream<ProcessHandle> processes() {
        return ProcessHandle.allProcesses().filter(process -> {
            try {
                byte[] line = Files.readAllBytes(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
                return List.of(new String(line, StandardCharsets.UTF_8).split("\0", -1))
                        .contains("--lite.cluster.name=" + NAME);
            } catch (IOException e) { // it has ended
                return false;
            }
        });
    }

    @Test
    void aClusterThatCannotStartReportsTheReasonAndReleasesItsName() throws IOException, InterruptedException {
        variables.put("LITE_NODE_SOCKET", "/proc/none/node.sock"); // made after the arena
        Ended up = lite("up", "--nodes", "1", "--name", NAME);
        variables.clear();
        assertThat(up.status()).as(up.output()).isEqualTo(1);
        assertThat(up.output())
                .contains("node-1 ended with status 1")
                .contains("cannot create the directory /proc/none of lite.node.socket");
        assertThat(home.resolve("clusters")).isEmptyDirectory();
        assertThat(Path.of("/dev/shm/lite", NAME)).doesNotExist();
    }

    @Test
    void aWrongNumberOfNodesIsRefusedBeforeAnythingIsMade() throws IOException, InterruptedException {
        Ended up = lite("up", "--nodes", "65", "--name", NAME);
        assertThat(up.status()).isEqualTo(2);
        assertThat(up.output()).contains("--nodes is 65; it must be 1 to 64");
        assertThat(home.resolve("clusters")).doesNotExist();
    }
}
