package dev.lite.mr;

import dev.lite.mr.jobs.InvertedIndex;
import dev.lite.mr.jobs.WordCount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** The example: two nodes, two worker processes, and two jobs over files; one worker is killed on the way. */
final class ExampleMain {
    private static final int LINES = 300_000;
    private static final int SHOWN = 5;

    private ExampleMain() {}

    /**
     * Runs the example.
     *
     * @param arguments text files; without any, it writes one
     */
    public static void main(String[] arguments) throws IOException {
        Path directory = Files.createTempDirectory("lite-mr-example");
        List<Path> files = List.of(arguments).stream()
                .filter(argument -> !argument.isBlank())
                .map(Path::of)
                .toList();
        if (files.isEmpty()) {
            files = List.of(TestTexts.write(directory.resolve("text"), 1, LINES));
        }
        Input[] inputs = files.stream().map(Input::file).toArray(Input[]::new);
        Path index = directory.resolve("index");
        try (TestCluster cluster = TestCluster.start(2, 128 << 20)) {
            MapReduce master = cluster.master(cluster.attached(0));
            cluster.workerProcess(0, 1);
            Process victim = cluster.workerProcess(1, 1);
            TestCluster.awaitWorkers(master, 2);

            System.out.println("Word count, with two workers:");
            JobResult counts = master.run(JobSpec.of(WordCount.class, inputs), status -> print(status.progressBar()));
            most(counts);

            System.out.println("Inverted index, with a worker that is killed:");
            master.run(
                    JobSpec.of(InvertedIndex.class, inputs)
                            .withSplitBytes(1 << 20)
                            .withOutput(Output.file(index)),
                    status -> {
                        print(status.progressBar());
                        if (status.mapDone() > 0 && victim.isAlive()) {
                            TestCluster.kill(victim);
                        }
                    });
            System.out.print(master.status().toText());
            System.out.println(master.status().toJson());
            System.out.printf(
                    "%,d words in the index%n", Files.readAllLines(index).size());
        } finally {
            TestCluster.delete(directory);
        }
    }

    private static void print(String line) {
        System.out.println(line);
    }

    private static void most(JobResult counts) {
        TestTexts.counts(counts).entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
                .limit(SHOWN)
                .forEach(entry -> System.out.printf("  %,9d  %s%n", entry.getValue(), entry.getKey()));
    }
}
