package dev.lite.mr;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Texts with frequent and rare words, and plain programs over them. */
public final class TestTexts {
    private static final int WORDS_MAX = 12;
    private static final Pattern SPACE = Pattern.compile("[\\x00-\\x20]+");

    private TestTexts() {}

    /** Writes so many lines; words differ in frequency, some lines are empty, and the last one has no line feed. */
    public static Path write(Path file, long seed, int lines) {
        Random random = new Random(seed);
        try (BufferedWriter writer = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            for (int line = 0; line < lines; line++) {
                StringBuilder text = new StringBuilder();
                for (int word = random.nextInt(WORDS_MAX); word > 0; word--) {
                    int rank = (int) Math.pow(5_000, random.nextDouble());
                    text.append(rank % 7 == 0 ? "größer" : "w").append(rank).append(' ');
                }
                writer.append(text.append(line == lines - 1 ? "end" : "\n"));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
        return file;
    }

    static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file, e);
        }
    }

    /** Word count with one thread, without LITE. */
    public static Map<String, Long> countWords(Path... files) {
        Map<String, Long> counts = new HashMap<>();
        for (Path file : files) {
            for (String word : SPACE.split(read(file), -1)) {
                if (!word.isEmpty()) {
                    counts.merge(word, 1L, Long::sum);
                }
            }
        }
        return new TreeMap<>(counts);
    }

    /** The pairs of a result as text and number, in a sorted map. */
    public static Map<String, Long> counts(JobResult result) {
        Map<String, Long> counts = new TreeMap<>();
        for (JobResult.Pair pair : result.pairs()) {
            Long former = counts.put(pair.key().text(), pair.value().getLong(0));
            if (former != null) {
                throw new AssertionError("twice in the result: " + pair.key());
            }
        }
        return counts;
    }

    /** The keys of a result in its order. */
    static List<String> keys(JobResult result) {
        return result.pairs().stream().map(pair -> pair.key().text()).toList();
    }
}
