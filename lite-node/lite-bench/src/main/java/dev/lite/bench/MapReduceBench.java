package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.bench.load.ChildProcess;
import dev.lite.mr.Input;
import dev.lite.mr.JobResult;
import dev.lite.mr.JobSpec;
import dev.lite.mr.MapReduce;
import dev.lite.mr.MrMain;
import dev.lite.mr.jobs.WordCount;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Word count of LITE-MR, with two worker processes of one thread each, attached to two nodes in this process, against plain programs with
 * two threads in a process of their own. Files of {@code lite.bench.mr.megabytes} (200, or a list). Both sides run in turn, and warm up
 * together; medians of {@value #RUNS} runs. They count the same words, and their results are compared.
 *
 * <ul>
 *   <li>{@code bytes}: the plain program keeps words as bytes in a hash table of its own, the fastest that was found;
 *   <li>{@code strings}: the plain program uses a {@code HashMap} of strings, as most would write it.
 * </ul>
 */
final class MapReduceBench implements BenchMain.Benchmark {
    private static final int RUNS = 5;
    private static final int WARM_UPS = 3;
    private static final int WORKERS = 2;
    private static final int WORDS = 400_000;
    private static final int LINE_WORDS = 12;
    private static final long ARENA_BYTES = 512L << 20;
    private static final long MEGABYTE = 1_000_000;
    private static final Duration ANSWER = Duration.ofMinutes(5);
    private static final String GROUP = "bench";

    @Override
    public void run(BenchReport report) {
        report.note("ours: LITE-MR, two worker processes; raw: a plain program with two threads, beside it");
        Path directory = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
        List<ChildProcess> processes = new ArrayList<>();
        try (BenchNodes nodes = new BenchNodes(WORKERS, ARENA_BYTES);
                Lite lite = nodes.attach(0);
                MapReduce master = MapReduce.open(lite, GROUP)) {
            List<SessionServer> servers = new ArrayList<>();
            try {
                for (int i = 0; i < WORKERS; i++) {
                    SessionServer server =
                            new SessionServer(SessionServerConfig.of(directory.resolve("s" + i)), nodes.node(i));
                    server.start();
                    servers.add(server);
                    List<String> words = List.of("worker", server.socket().toString(), GROUP, "1");
                    processes.add(java("worker " + i, MrMain.class, words));
                    processes.getLast().answer(ANSWER);
                }
                ChildProcess plain = java("plain program", PlainWordCount.class, List.of());
                processes.add(plain);
                for (String megabytes :
                        System.getProperty("lite.bench.mr.megabytes", "200").split(",", -1)) {
                    measure(report, master, plain, directory.resolve("text"), Long.parseLong(megabytes) * MEGABYTE);
                }
            } finally {
                servers.forEach(SessionServer::close); // The workers end with their sessions.
                processes.forEach(ChildProcess::close);
            }
        } finally {
            BenchNodes.delete(directory);
        }
    }

    private static ChildProcess java(String name, Class<?> main, List<String> arguments) {
        return ChildProcess.java(name, List.of("-Xmx1g"), main, arguments);
    }

    private static void measure(BenchReport report, MapReduce master, ChildProcess plain, Path file, long bytes) {
        writeText(file, bytes);
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(file));
        double[] ours = new double[RUNS];
        Map<String, double[]> raw = Map.of("bytes", new double[RUNS], "strings", new double[RUNS]);
        for (int run = -WARM_UPS; run < RUNS; run++) {
            long startNs = System.nanoTime();
            JobResult result = master.run(spec);
            double milliseconds = (System.nanoTime() - startNs) / 1e6;
            for (Map.Entry<String, double[]> way : raw.entrySet()) {
                plain.send(way.getKey() + " " + file);
                String[] answer = plain.answer(ANSWER).trim().split(" ", -1);
                check(result, Long.parseLong(answer[1]), Long.parseLong(answer[2]));
                if (run >= 0) {
                    way.getValue()[run] = Long.parseLong(answer[0]) / 1e6;
                }
            }
            if (run >= 0) {
                ours[run] = milliseconds;
            }
        }
        raw.forEach((way, times) -> report.add("word-count-" + way, bytes, "ms", median(ours), median(times)));
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static void check(JobResult result, long words, long different) {
        long counted = result.pairs().stream()
                .mapToLong(pair -> pair.value().getLong(0))
                .sum();
        if (counted != words || result.pairCount() != different) {
            throw new IllegalStateException("LITE-MR counted %d words, %d different ones; the plain program %d, %d"
                    .formatted(counted, result.pairCount(), words, different));
        }
    }

    /** Words of 1 to 12 letters; the n-th is about 1/n as frequent as the first, as in natural texts. */
    private static void writeText(Path file, long bytes) {
        Random random = new Random(1);
        byte[][] words = new byte[WORDS][];
        for (int i = 0; i < WORDS; i++) {
            StringBuilder word = new StringBuilder(Integer.toString(i, Character.MAX_RADIX));
            for (int more = random.nextInt(8); more > 0; more--) {
                word.append((char) ('a' + random.nextInt(26)));
            }
            words[i] = word.append(' ').toString().getBytes(StandardCharsets.US_ASCII);
        }
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 20)) {
            long written = 0;
            for (int count = 1; written < bytes; count++) {
                byte[] word = words[(int) Math.pow(WORDS, random.nextDouble()) - 1];
                out.write(word);
                written += word.length;
                if (count % LINE_WORDS == 0) {
                    out.write('\n');
                    written++;
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
    }
}
