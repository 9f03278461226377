package dev.lite.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Counts the words of a file with two threads, and nothing else: reads blocks, counts in a table per thread, joins the two tables, and
 * sorts the words. A process that answers lines {@code bytes FILE} or {@code strings FILE} with {@code ok NANOSECONDS WORDS DIFFERENT}.
 */
final class PlainWordCount {
    private static final int THREADS = 2;
    private static final int BLOCK = 256 << 10;

    private PlainWordCount() {}

    /** Answers until the input ends. */
    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", 2);
            Path file = Path.of(words[1]);
            long startNs = System.nanoTime();
            long[] found = words[0].equals("bytes") ? countBytes(file) : countStrings(file);
            System.out.printf("ok %d %d %d%n", System.nanoTime() - startNs, found[0], found[1]);
        }
    }

    private static long[] countBytes(Path file) {
        List<WordTable> tables = run(file, WordTable::new);
        WordTable all = tables.getFirst();
        tables.subList(1, THREADS).forEach(all::addAll);
        return all.totals();
    }

    private static long[] countStrings(Path file) {
        List<Strings> tables = run(file, Strings::new);
        Map<String, long[]> all = new TreeMap<>();
        for (Strings table : tables) {
            table.counts.forEach((word, count) -> all.computeIfAbsent(word, key -> new long[1])[0] += count[0]);
        }
        long words = all.values().stream().mapToLong(count -> count[0]).sum();
        return new long[] {words, all.size()};
    }

    /** Takes words. */
    interface Counter {
        void add(byte[] array, int offset, int length);
    }

    private static final class Strings implements Counter {
        private final Map<String, long[]> counts = new HashMap<>();

        @Override
        public void add(byte[] array, int offset, int length) {
            String word = new String(array, offset, length, StandardCharsets.ISO_8859_1);
            counts.computeIfAbsent(word, key -> new long[1])[0]++;
        }
    }

    /** Counts the halves of a file on two threads. */
    private static <C extends Counter> List<C> run(Path file, Supplier<C> counters) {
        List<C> tables = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            C counter = counters.get();
            int part = i;
            tables.add(counter);
            threads.add(Thread.ofPlatform().start(() -> count(file, part, counter)));
        }
        try {
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
        return tables;
    }

    /** Counts the words that start in a part of the file. */
    private static void count(Path file, int part, Counter counter) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long end = channel.size() * (part + 1) / THREADS;
            long position = channel.size() * part / THREADS;
            byte[] block = new byte[BLOCK];
            int filled = 0;
            boolean skip = false;
            if (position > 0) {
                position--;
                skip = true;
            }
            while (position + filled < channel.size()) {
                ByteBuffer buffer = ByteBuffer.wrap(block, filled, block.length - filled);
                filled += channel.read(buffer, position + filled);
                boolean last = position + filled >= channel.size();
                int at = 0;
                while (true) {
                    int start = at;
                    while (start < filled && (block[start] & 0xff) <= ' ') {
                        start++;
                        skip = false;
                    }
                    int stop = start;
                    while (stop < filled && (block[stop] & 0xff) > ' ') {
                        stop++;
                    }
                    if (position + start >= end) {
                        return;
                    }
                    if ((stop == filled && !last) || start == stop) {
                        at = start;
                        break;
                    }
                    if (!skip) {
                        counter.add(block, start, stop - start);
                    }
                    skip = false;
                    at = stop;
                }
                System.arraycopy(block, at, block, 0, filled - at);
                position += at;
                filled -= at;
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file, e);
        }
    }
}
