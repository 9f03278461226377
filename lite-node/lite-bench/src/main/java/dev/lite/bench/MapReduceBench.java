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
import java.util.Locale;
import java.util.Random;

/**
 * Word count of LITE-MR, with two worker processes of one thread each, attached to two nodes in this process, against other programs with
 * two threads, each in a process of its own. Files of {@code lite.bench.mr.megabytes} (200, or a list). All warm up with a small file, and
 * then run in turn; medians of {@code lite.bench.mr.runs} runs, 5 by default. All count the same words, and their results are compared.
 *
 * <ul>
 *   <li>{@code bytes}: a plain program that keeps words as bytes in a hash table of its own, the fastest that was found;
 *   <li>{@code strings}: a plain program that uses a {@code HashMap} of strings, as most would write it;
 *   <li>{@code hadoop}, {@code spark}: their local runners, with the profile {@code bench-peers-mr}; half as many runs.
 * </ul>
 */
final class MapReduceBench implements BenchMain.Benchmark {
    private static final int WARM_UPS = 3;
    private static final int WORKERS = 2;
    private static final int WORDS = 400_000;
    private static final int LINE_WORDS = 12;
    private static final long ARENA_BYTES = 512L << 20;
    private static final long MEGABYTE = 1_000_000;
    private static final long WARM_UP_BYTES = 50 * MEGABYTE;
    private static final Duration ANSWER = Duration.ofMinutes(10);
    private static final String GROUP = "bench";
    private static final String PEERS = "dev.lite.bench.peers.mr.";

    /**
     * A program to compare with.
     *
     * @param order what it reads before the file's name
     * @param isPeer whether it is much slower, so that it runs less often
     */
    private record Other(String name, ChildProcess process, String order, boolean isPeer) {
        /** Its time in nanoseconds, the number of words, and of different ones. */
        long[] count(Path file) {
            process.send(order + file);
            return Arrays.stream(process.answer(ANSWER).trim().split(" ", -1))
                    .mapToLong(Long::parseLong)
                    .toArray();
        }
    }

    @Override
    public void run(BenchReport report) {
        report.note("ours: LITE-MR, two worker processes; raw: another program with two threads, beside it");
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
                List<Other> others = others(processes);
                Path file = directory.resolve("text");
                warmUp(master, others, file);
                for (String megabytes :
                        System.getProperty("lite.bench.mr.megabytes", "200").split(",", -1)) {
                    measure(report, master, others, file, Long.parseLong(megabytes) * MEGABYTE);
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

    private static List<Other> others(List<ChildProcess> processes) {
        ChildProcess plain = java("plain program", PlainWordCount.class, List.of());
        processes.add(plain);
        List<Other> others = new ArrayList<>();
        others.add(new Other("bytes", plain, "bytes ", false));
        others.add(new Other("strings", plain, "strings ", false));
        String peers = System.getProperty("lite.bench.mr.peers", "");
        if (!peers.isBlank()) {
            String classPath = Path.of(peers, "classes") + ":" + read(Path.of(peers, "classpath"));
            for (String name : List.of("Hadoop", "Spark")) {
                ChildProcess peer = ChildProcess.java(name, List.of("-Xmx1g"), classPath, PEERS + name + "WordCount");
                processes.add(peer);
                others.add(new Other(name.toLowerCase(Locale.ROOT), peer, "", true));
            }
        }
        return others;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file, e);
        }
    }

    private static void warmUp(MapReduce master, List<Other> others, Path file) {
        writeText(file, WARM_UP_BYTES);
        for (int run = 0; run < WARM_UPS; run++) {
            JobResult result = master.run(JobSpec.of(WordCount.class, Input.file(file)));
            for (Other other : others) {
                if (run == 0 || !other.isPeer) {
                    check(result, other.name, other.count(file));
                }
            }
        }
    }

    private static void measure(BenchReport report, MapReduce master, List<Other> others, Path file, long bytes) {
        writeText(file, bytes);
        int runs = Integer.getInteger("lite.bench.mr.runs", 5);
        int peerRuns = (runs + 1) / 2;
        List<Double> ours = new ArrayList<>();
        List<List<Double>> raw = new ArrayList<>();
        others.forEach(other -> raw.add(new ArrayList<>()));
        for (int run = 0; run < runs; run++) {
            long startNs = System.nanoTime();
            JobResult result = master.run(JobSpec.of(WordCount.class, Input.file(file)));
            ours.add((System.nanoTime() - startNs) / 1e6);
            for (int i = 0; i < others.size(); i++) {
                Other other = others.get(i);
                if (!other.isPeer || run < peerRuns) {
                    long[] counted = other.count(file);
                    check(result, other.name, counted);
                    raw.get(i).add(counted[0] / 1e6);
                }
            }
        }
        for (int i = 0; i < others.size(); i++) {
            report.add("word-count-" + others.get(i).name, bytes, "ms", median(ours), median(raw.get(i)));
        }
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }

    private static void check(JobResult result, String name, long[] other) {
        long counted = result.pairs().stream()
                .mapToLong(pair -> pair.value().getLong(0))
                .sum();
        if (counted != other[1] || result.pairCount() != other[2]) {
            throw new IllegalStateException("LITE-MR counted %d words, %d different ones; %s %d, %d"
                    .formatted(counted, result.pairCount(), name, other[1], other[2]));
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
