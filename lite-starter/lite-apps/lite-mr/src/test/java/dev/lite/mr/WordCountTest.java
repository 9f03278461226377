package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Word count, compared with a plain program on the same input. */
class WordCountTest {
    private static final long ARENA = 64 << 20;

    @TempDir
    Path directory;

    @Test
    void twoEmbeddedWorkersCountLikeAPlainProgram() {
        Path file = TestTexts.write(directory.resolve("text"), 1, 20_000);
        try (TestCluster cluster = TestCluster.start(2, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            cluster.worker(1, 2);
            TestCluster.awaitWorkers(master, 2);
            long before = cluster.lmrBytes();
            JobResult result =
                    master.run(JobSpec.of(WordCount.class, Input.file(file)).withSplitBytes(10_007));
            assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
            assertThat(result.pairs()).isSortedAccordingTo((a, b) -> a.key().compareTo(b.key()));
            // On a slow machine a task may get a second copy.
            assertThat(result.again()).allMatch(again -> again.contains(" a second time on "));
            assertThat(result.counters()).containsEntry("records", 20_000L);
            assertThat(cluster.lmrBytes()).isEqualTo(before);
        }
    }

    @Test
    void wordsOfASplitThatIsLongerThanTheBufferAreCounted() {
        Path file = TestTexts.write(directory.resolve("text"), 3, 40_000);
        assertThat(file).satisfies(text -> assertThat(text.toFile().length()).isGreaterThan(1 << 20));
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            JobResult result = master.run(JobSpec.of(WordCount.class, Input.file(file)));
            assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
        }
    }

    @Test
    void aFileThatIsShorterForAWorkerFailsTheJobInsteadOfCountingLess() {
        Path file = TestTexts.write(directory.resolve("text"), 2, 400);
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            JobSpec spec = JobSpec.of(WordCount.class, Input.file(file)).withWorkerWait(Waits.seconds(60));
            AtomicBoolean first = new AtomicBoolean(true);
            // The master has cut the file, and there is no worker before it is shorter.
            assertThatThrownBy(() -> master.run(spec, status -> {
                        if (first.getAndSet(false)) {
                            truncate(file, 1_000);
                            cluster.worker(0, 1);
                        }
                    }))
                    .isInstanceOf(MrException.class)
                    .hasMessageContaining("file " + file + " has 1000 bytes for this worker");
        }
    }

    private static void truncate(Path file, long bytes) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void theResultDoesNotDependOnSplitsAndPartitions() {
        Path file = TestTexts.write(directory.resolve("text"), 2, 400);
        Map<String, Long> expected = TestTexts.countWords(file);
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 2);
            for (int partitions : new int[] {1, 2, 3, 5, 16}) {
                for (long split : new long[] {97, 1_000, 1 << 20}) {
                    JobResult result = master.run(JobSpec.of(WordCount.class, Input.file(file))
                            .withSplitBytes(split)
                            .withPartitions(partitions));
                    assertThat(TestTexts.counts(result))
                            .as("%d partitions, splits of %d", partitions, split)
                            .isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void linesAreCountedFromTheEndOfTheHeaderOn() throws IOException {
        Path text = TestTexts.write(directory.resolve("text"), 4, 20);
        Map<String, Long> expected = TestTexts.countWords(text);
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 2);
            for (String header : List.of("word,\nplace\n", "no-line-feed")) {
                Path file = Files.writeString(directory.resolve("table"), header + TestTexts.read(text));
                for (long split : new long[] {1, 5, header.length(), 97, 1 << 20}) {
                    JobResult result = master.run(JobSpec.of(WordCount.class, Input.file(file))
                            .withFormat(new RecordFormat(header.length(), 0))
                            .withSplitBytes(split));
                    assertThat(TestTexts.counts(result))
                            .as("header %s, splits of %d", header, split)
                            .isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void aJobChoosesPartitionsAndTheOrderOfItsKeys() {
        Path file = TestTexts.write(directory.resolve("text"), 9, 2_000);
        try (TestCluster cluster = TestCluster.start(2, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            cluster.worker(1, 1);
            JobResult result = master.run(JobSpec.of(SlowJobs.Reversed.class, Input.file(file))
                    .withSplitBytes(5_000)
                    .withPartitions(3));
            Map<String, Long> expected = TestTexts.countWords(file);
            assertThat(TestTexts.counts(result)).isEqualTo(expected);
            assertThat(result.pairs()).isSortedAccordingTo((a, b) -> b.key().compareTo(a.key()));
            long first = expected.keySet().stream()
                    .filter(word -> word.startsWith("w"))
                    .count();
            assertThat(result.counters()).containsEntry("first", first).containsEntry("last", expected.size() - first);
        }
    }

    @Test
    void severalFilesAndAnLmrAreOneInput() throws java.io.IOException {
        Path first = TestTexts.write(directory.resolve("first"), 3, 1_000);
        Path second = TestTexts.write(directory.resolve("second"), 4, 2_000);
        Path third = TestTexts.write(directory.resolve("third"), 5, 3_000);
        Path empty = Files.createFile(directory.resolve("empty"));
        try (TestCluster cluster = TestCluster.start(2, ARENA)) {
            Lite lite = cluster.embedded(0);
            byte[] text = Files.readAllBytes(third);
            LmrSpec spec = LmrSpec.of(text.length)
                    .withName("text")
                    .withPlacement(Placement.spread())
                    .withDefaultPermissions(Permission.READ);
            try (LmrHandle lmr = lite.memory().register(spec, MemorySegment.ofArray(text))) {
                MapReduce master = cluster.master(lite);
                cluster.worker(1, 2);
                JobResult result = master.run(JobSpec.of(
                                WordCount.class,
                                Input.file(first),
                                Input.file(empty),
                                Input.lmr("text"),
                                Input.file(second))
                        .withSplitBytes(5_000));
                assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(first, second, third));
                lmr.free();
            }
        }
    }

    @Test
    void theOutputIsAFileOrAnLmr() {
        Path file = TestTexts.write(directory.resolve("text"), 6, 2_000);
        Map<String, Long> expected = TestTexts.countWords(file);
        try (TestCluster cluster = TestCluster.start(2, ARENA)) {
            Lite lite = cluster.embedded(0);
            MapReduce master = cluster.master(lite);
            cluster.worker(1, 1);
            JobSpec spec = JobSpec.of(WordCount.class, Input.file(file));
            JobResult toFile = master.run(spec.withOutput(Output.file(directory.resolve("out"))));
            StringBuilder lines = new StringBuilder();
            new TreeMap<>(expected).forEach((word, count) -> lines.append(word + "\t" + count + "\n"));
            assertThat(toFile.pairs()).isEmpty();
            assertThat(toFile.pairCount()).isEqualTo(expected.size());
            assertThat(sortedLines(TestTexts.read(directory.resolve("out")))).isEqualTo(sortedLines(lines.toString()));

            JobResult toLmr = master.run(spec.withOutput(Output.lmr("counts")));
            assertThat(toLmr.pairCount()).isEqualTo(expected.size());
            assertThat(readPairs(lite, "counts")).isEqualTo(expected);
        }
    }

    @Test
    void nobodyFindsAnOutputLmrBeforeItIsComplete() {
        Path file = TestTexts.write(directory.resolve("text"), 6, 1_000);
        try (TestCluster cluster = TestCluster.start(2, ARENA)) {
            Lite reader = cluster.embedded(1);
            List<Boolean> found = new CopyOnWriteArrayList<>();
            MapReduce master = cluster.master(watched(cluster.embedded(0), () -> found.add(exists(reader, "counts"))));
            cluster.worker(1, 1);
            master.run(JobSpec.of(WordCount.class, Input.file(file)).withOutput(Output.lmr("counts")));
            assertThat(found).isNotEmpty().doesNotContain(true);
            assertThat(readPairs(reader, "counts")).isEqualTo(TestTexts.countWords(file));
        }
    }

    private static boolean exists(Lite lite, String name) {
        try (LmrHandle lmr = lite.memory().map(name, Permission.READ)) {
            return lmr.size() > 0;
        } catch (LmrNotFoundException e) {
            return false;
        }
    }

    /** A session that does something before each copy between LMRs, and before it creates one with content. */
    private static Lite watched(Lite lite, Runnable before) {
        return WatchedMemory.of(lite, called -> {
            if (Set.of("memcpy", "register").contains(called)) {
                before.run();
            }
        });
    }

    @Test
    void anOutputLeavesNoOtherFileAndChangesNone() throws java.io.IOException {
        Path file = Files.writeString(directory.resolve("text"), "a b a");
        Path linked = Files.writeString(directory.resolve("linked"), "theirs");
        Path link = Files.createSymbolicLink(directory.resolve("linking.part"), linked);
        Path part = Files.writeString(directory.resolve("out.part"), "mine");
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            JobSpec spec = JobSpec.of(WordCount.class, Input.file(file));
            master.run(spec.withOutput(Output.file(directory.resolve("out"))));
            master.run(spec.withOutput(Output.file(directory.resolve("linking"))));
        }
        assertThat(part).hasContent("mine");
        assertThat(link).isSymbolicLink();
        assertThat(linked).hasContent("theirs");
        assertThat(directory.toFile().list())
                .containsExactlyInAnyOrder("text", "linked", "linking.part", "linking", "out.part", "out");
    }

    private static java.util.List<String> sortedLines(String text) {
        return text.lines().sorted().toList();
    }

    private static Map<String, Long> readPairs(Lite lite, String name) {
        Map<String, Long> pairs = new TreeMap<>();
        try (LmrHandle lmr = lite.memory().map(name, Permission.READ)) {
            byte[] bytes = new byte[(int) lmr.size()];
            lmr.read(0, bytes);
            ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            while (buffer.hasRemaining()) {
                byte[] key = new byte[buffer.getInt()];
                int valueLength = buffer.getInt();
                buffer.get(key);
                assertThat(valueLength).isEqualTo(Long.BYTES);
                pairs.put(new String(key, StandardCharsets.UTF_8), buffer.getLong());
            }
        }
        return pairs;
    }

    @Test
    void attachedMasterAndWorkersCountOverTcp() {
        Path file = TestTexts.write(directory.resolve("text"), 7, 5_000);
        try (TestCluster cluster = TestCluster.start(2, ARENA, new TcpFabricProvider())) {
            MapReduce master = cluster.master(cluster.attached(0));
            WorkerOptions options = WorkerOptions.of(TestCluster.GROUP).withThreads(2);
            cluster.keep(MrWorker.start(cluster.attached(0), options.withName("a")));
            cluster.keep(MrWorker.start(cluster.attached(1), options.withName("b")));
            TestCluster.awaitWorkers(master, 2);
            JobResult result =
                    master.run(JobSpec.of(WordCount.class, Input.file(file)).withSplitBytes(10_000));
            assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
        }
    }

    @Test
    void anEmptyInputHasAnEmptyResult() throws java.io.IOException {
        Path empty = Files.createFile(directory.resolve("empty"));
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            assertThat(master.run(JobSpec.of(WordCount.class, Input.file(empty)))
                            .pairs())
                    .isEmpty();
        }
    }

    @Test
    void theJobPageShowsTheJobAsTextAndJson() {
        Path file = TestTexts.write(directory.resolve("text"), 8, 1_000);
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            assertThat(master.status().phase()).isEqualTo("idle");
            master.run(JobSpec.of(WordCount.class, Input.file(file)));
            JobStatus status = master.status();
            assertThat(status.progressBar()).contains("100 %").contains("map 1/1 reduce 4/4 merge 3/3");
            assertThat(status.toText()).contains(WordCount.class.getName(), "counter records = 1,000", "at node-0");
            assertThat(status.toJson())
                    .startsWith("{\"job\":\"dev.lite.mr.jobs.WordCount\",\"phase\":\"idle\"")
                    .contains("\"map\":{\"done\":1,\"total\":1}", "\"records\":1000", "\"again\":[]");
        }
    }
}
