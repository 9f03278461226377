package dev.lite.bench.peers.mr;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a peer's process does: for each line with a file, it counts the words, and answers {@code ok NANOSECONDS WORDS DIFFERENT}. It writes
 * its result beside the file, and deletes it afterwards.
 */
final class Answers {
    private Answers() {}

    /** Counts the words of a file; the output is a directory that does not exist yet. */
    interface WordCount {
        long[] count(Path input, Path output) throws IOException;
    }

    /** Answers until the input ends. */
    static void answer(WordCount counter) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // Libraries may print.
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Path file = Path.of(line);
            Path output = Files.createTempDirectory(file.getParent(), "peer").resolve("out");
            try {
                long startNs = System.nanoTime();
                long[] found = counter.count(file, output);
                out.printf("ok %d %d %d%n", System.nanoTime() - startNs, found[0], found[1]);
                out.flush();
            } finally {
                delete(output.getParent());
            }
        }
    }

    private static void delete(Path directory) throws IOException {
        List<Path> paths;
        try (Stream<Path> all = Files.walk(directory)) {
            paths = all.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : paths) {
            Files.deleteIfExists(path);
        }
    }
}
