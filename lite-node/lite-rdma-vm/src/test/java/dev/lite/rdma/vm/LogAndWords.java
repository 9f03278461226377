package dev.lite.rdma.vm;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.log.LiteLog;
import dev.lite.log.LiteLogs;
import dev.lite.log.LogReader;
import dev.lite.log.LogSpec;
import dev.lite.log.LogTransaction;
import dev.lite.mr.Input;
import dev.lite.mr.JobResult;
import dev.lite.mr.JobSpec;
import dev.lite.mr.MapReduce;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** What applications do with LITE-Log and LITE-MR at nodes that reach each other over RDMA. */
final class LogAndWords {
    static final String GROUP = "mixed";

    private static final Duration DEADLINE = Waits.seconds(30);
    private static final String LOG = "mixed/log";
    private static final String OWNER = "b";
    private static final int SEGMENT_BYTES = 16 << 10;
    private static final int TRANSACTIONS = 400;
    private static final int ENTRY_BYTES = 100;

    private static final String TEXT = "mixed/text";
    private static final int TEXT_WORDS = 40_000;
    private static final int DIFFERENT_WORDS = 500;
    private static final int LINE_WORDS = 10;
    private static final int SPLIT_BYTES = 32 << 10;

    private LogAndWords() {}

    /** Transactions of one to three entries, in several segments on another node. */
    static String write(Lite lite) {
        LogSpec spec = LogSpec.defaults()
                .withSegmentBytes(SEGMENT_BYTES)
                .withPlacement(Placement.on(OWNER))
                .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC);
        try (LiteLogs logs = new LiteLogs(lite, DEADLINE);
                LiteLog log = logs.create(LOG, spec)) {
            for (int i = 0; i < TRANSACTIONS; i++) {
                byte[][] more = new byte[i % 3][];
                for (int j = 0; j < more.length; j++) {
                    more[j] = entry(i, j + 1);
                }
                log.append(entry(i, 0), more);
            }
            readAll(log);
        }
        MixedProgram.meet(lite, LOG);
        return "wrote and read " + TRANSACTIONS + " transactions on node " + OWNER;
    }

    static String read(Lite lite) {
        MixedProgram.meet(lite, LOG);
        try (LiteLogs logs = new LiteLogs(lite, DEADLINE);
                LiteLog log = logs.open(LOG)) {
            readAll(log);
        }
        return "read " + TRANSACTIONS + " transactions";
    }

    private static void readAll(LiteLog log) {
        try (LogReader reader = log.reader(log.firstPosition())) {
            for (int i = 0; i < TRANSACTIONS; i++) {
                LogTransaction next = reader.next(DEADLINE);
                if (next == null) {
                    throw new IllegalStateException("no transaction " + i);
                }
                require(next.entries().size() == 1 + i % 3, "transaction " + i + " is not whole");
                for (int j = 0; j < next.entries().size(); j++) {
                    require(ByteBuffer.wrap(next.bytes(j)).equals(ByteBuffer.wrap(entry(i, j))), "wrong entry in " + i);
                }
            }
            require(reader.next(Duration.ZERO) == null, "a transaction that nobody wrote");
        }
    }

    private static byte[] entry(int transaction, int index) {
        byte[] bytes = new byte[1 + (transaction * 31 + index) % ENTRY_BYTES];
        new Random(transaction * 3L + index).nextBytes(bytes);
        return bytes;
    }

    /** Counts the words of an LMR over all nodes, with the workers that wait. */
    static String countWords(Lite lite) {
        Random random = new Random(TEXT_WORDS);
        StringBuilder text = new StringBuilder();
        Map<String, Long> expected = new HashMap<>();
        for (int i = 1; i <= TEXT_WORDS; i++) {
            String word = "w" + random.nextInt(DIFFERENT_WORDS);
            expected.merge(word, 1L, Long::sum);
            text.append(word).append(i % LINE_WORDS == 0 ? '\n' : ' ');
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.US_ASCII);
        try (LmrHandle handle = lite.memory()
                        .malloc(LmrSpec.of(bytes.length)
                                .withName(TEXT)
                                .withPlacement(Placement.spread())
                                .withDefaultPermissions(Permission.READ));
                MapReduce master = MapReduce.open(lite, GROUP, DEADLINE)) {
            handle.write(0, bytes);
            JobResult result = master.run(JobSpec.of(WordCount.class, Input.lmr(TEXT))
                    .withSplitBytes(SPLIT_BYTES)
                    .withWorkerWait(DEADLINE));
            Map<String, Long> counted = new HashMap<>();
            result.pairs()
                    .forEach(pair -> counted.put(pair.key().text(), pair.value().getLong(0)));
            require(counted.equals(expected), "other counts than those of a plain program");
            int workers = master.workers();
            require(workers == 2, "a worker was lost: there are " + workers);
            return "counted %d words with %d workers; again: %s".formatted(TEXT_WORDS, workers, result.again());
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
