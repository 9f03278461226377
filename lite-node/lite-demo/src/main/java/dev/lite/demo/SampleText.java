package dev.lite.demo;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;

/** Makes the text that the demo stores when it is started without a file: large enough to spread over the nodes. */
final class SampleText {

    /** 16 chunks of an LMR: each of the three nodes gets several. */
    static final int BYTES = 64 << 20;

    private static final int SENTENCE_WORDS_MIN = 5;
    private static final int SENTENCE_WORDS_MAX = 15;
    private static final int LINE_BYTES = 100;
    /** One more word, its space and its full stop still fit into the buffer. */
    private static final int BUFFER_BYTES = LINE_BYTES + 16;

    private static final List<String> WORDS = List.of(
            "a",
            "node",
            "owns",
            "the",
            "memory",
            "of",
            "its",
            "host",
            "and",
            "every",
            "application",
            "maps",
            "it",
            "by",
            "name",
            "from",
            "another",
            "machine",
            "then",
            "reads",
            "writes",
            "adds",
            "without",
            "copying",
            "through",
            "a",
            "server",
            "the",
            "master",
            "grants",
            "permissions",
            "while",
            "callers",
            "wait",
            "for",
            "the",
            "lock",
            "in",
            "order",
            "each",
            "epoch",
            "fences",
            "lost",
            "nodes",
            "so",
            "no",
            "byte",
            "is",
            "ever",
            "lost");

    private SampleText() {}

    /**
     * Writes the text, always the same, into a temporary file that is deleted when this process ends.
     *
     * @param bytes its length
     * @throws DemoFailedException if the directory for temporary files has too little space
     */
    static Path write(int bytes) {
        try {
            Path file = Files.createTempFile("lite-demo-", ".txt");
            file.toFile().deleteOnExit();
            try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 16)) {
                write(out, bytes);
            }
            return file;
        } catch (IOException e) {
            throw new DemoFailedException(
                    "cannot write the demo's text of %s below %s: %s; choose a file of your own with -Dlite.demo.file"
                            .formatted(Sizes.of(bytes), System.getProperty("java.io.tmpdir"), e.getMessage()),
                    e);
        }
    }

    /** Writes exactly so many bytes. */
    static void write(OutputStream out, int bytes) throws IOException {
        SplittableRandom random = new SplittableRandom(2017);
        StringBuilder line = new StringBuilder(BUFFER_BYTES);
        int written = 0;
        int words = 0;
        while (written < bytes) {
            line.append(WORDS.get(random.nextInt(WORDS.size())));
            if (words-- == 0) {
                words = random.nextInt(SENTENCE_WORDS_MIN, SENTENCE_WORDS_MAX + 1);
                line.append('.');
            }
            boolean full = line.length() >= LINE_BYTES || written + line.length() >= bytes - 1;
            line.append(full ? '\n' : ' ');
            if (full) {
                int length = Math.min(line.length(), bytes - written);
                out.write(line.toString().getBytes(StandardCharsets.US_ASCII), 0, length);
                written += length;
                line.setLength(0);
            }
        }
    }
}
