package dev.lite.bench.log;

import dev.lite.api.Lite;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.Placement;
import dev.lite.bench.contenders.BenchNode;
import dev.lite.log.LiteLog;
import dev.lite.log.LiteLogs;
import dev.lite.log.LogSpec;
import dev.lite.os.SharedMemory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A process with writers and readers of the log. It answers each line of its input with one line, {@code ok …}, and ends with its input.
 *
 * <ul>
 *   <li>{@code open NAME TYPICAL_BYTES}: opens the log, or creates it
 *   <li>{@code run KIND BYTES THREADS MILLISECONDS}: answers with the count of all threads
 * </ul>
 */
public final class LogParty {
    private static final long SEGMENT_BYTES = 16L << 20;
    private static final long RETENTION_BYTES = SEGMENT_BYTES;

    /** The node that stores the log: over TCP, the process at the other node is remote. */
    private static final String STORE = "node-1";

    private LogParty() {}

    /**
     * Runs until the input ends.
     *
     * @param arguments {@code embedded} and the words of a {@link BenchNode.Spec}, or {@code attached} and a socket; before them the file of
     *     the bare memory
     */
    public static void main(String[] arguments) throws IOException {
        List<String> words = List.of(arguments);
        try (SharedMemory raw = SharedMemory.openFile(Path.of(words.get(0)))) {
            if (words.get(1).equals("embedded")) {
                try (BenchNode node = BenchNode.start(BenchNode.Spec.parse(words.subList(2, words.size())));
                        Lite lite = node.attach()) {
                    answer(lite, raw);
                }
            } else {
                Lite.AttachOptions options = Lite.AttachOptions.to(Path.of(words.get(2)), "bench-log");
                try (Lite lite = Lite.attach(options.withReattach(true))) {
                    answer(lite, raw);
                }
            }
        }
        System.exit(0); // also if a thread still waits
    }

    private static void answer(Lite lite, SharedMemory raw) throws IOException {
        System.out.println("ok ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (LiteLogs logs = new LiteLogs(lite)) {
            LiteLog log = null;
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                String[] words = line.split(" ", -1);
                try {
                    if (words[0].equals("open")) {
                        if (log == null || !log.name().equals(words[1])) {
                            delete(logs, log);
                            log = open(logs, words[1], Integer.parseInt(words[2]));
                        }
                        System.out.println("ok open");
                    } else if (log != null) {
                        LogLoad load = LogLoad.parse(words[1], words[2], words[3]);
                        load.prepare(log);
                        System.out.println("ok " + run(load, log, raw, Long.parseLong(words[4])));
                    }
                } catch (RuntimeException e) {
                    e.printStackTrace();
                    System.out.println("error " + e.toString().replace('\n', ' '));
                }
            }
        }
    }

    /** The memory is for one log at a time. The other process may have deleted it. */
    private static void delete(LiteLogs logs, @Nullable LiteLog log) {
        if (log != null) {
            log.close();
            try {
                logs.delete(log.name());
            } catch (LmrNotFoundException | LmrFreedException e) {
                // The other process was faster.
            }
        }
    }

    private static LiteLog open(LiteLogs logs, String name, int typicalBytes) {
        LogSpec spec = LogSpec.defaults()
                .withSegmentBytes(SEGMENT_BYTES)
                .withRetentionBytes(RETENTION_BYTES)
                .withTransactionBytesTypical(typicalBytes)
                .withPlacement(Placement.on(STORE));
        LiteLog log = logs.createOrOpen(name, spec);
        log.startCleaner();
        return log;
    }

    private static String run(LogLoad load, LiteLog log, SharedMemory raw, long milliseconds) {
        long startNs = System.nanoTime();
        long endNs = startNs + milliseconds * 1_000_000;
        List<CompletableFuture<Long>> counts = new ArrayList<>();
        for (int thread = 0; thread < load.threads(); thread++) {
            CompletableFuture<Long> count = new CompletableFuture<>();
            counts.add(count);
            Thread.ofPlatform().start(() -> {
                try {
                    count.complete(load.run(log, raw, endNs));
                } catch (RuntimeException e) {
                    count.completeExceptionally(e);
                }
            });
        }
        long sum = counts.stream().mapToLong(CompletableFuture::join).sum();
        return "%d %d".formatted(sum, System.nanoTime() - startNs);
    }
}
