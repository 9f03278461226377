package dev.lite.mr;

import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.mr.data.Merge;
import dev.lite.mr.data.Run;
import dev.lite.mr.data.RunWriter;
import dev.lite.mr.data.Table;
import dev.lite.mr.data.UnwrittenException;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Reduced;
import dev.lite.mr.job.Slice;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A job on one thread of a worker: an instance of the job, and what the thread has allocated for it. One thread.
 */
final class Execution {
    private static final int SPILL_BYTES = 64 << 20;
    private static final int TEXT_MAX = 60;

    private final MrWorker worker;
    private final long number;
    private final RecordFormat format;
    private final int partitions;
    private final LmrHandle board;
    private final Job job;
    /** The pairs of the task under way, and those of accepted tasks that are not written yet. */
    private final Table task;

    private final Table kept;
    /** Everything that was written: map results under the key -1. */
    private final Map<Integer, List<RunWriter>> written = new HashMap<>();

    private final List<Integer> spilledPartitions = new ArrayList<>();
    private final List<Run> spilledRuns = new ArrayList<>();
    private Map<String, Long> counters = new HashMap<>();
    /** Of the task under way: a late cancellation of the one before does not reach it. */
    private AtomicBoolean cancelled = new AtomicBoolean();

    private Execution(
            MrWorker worker,
            long number,
            RecordFormat format,
            int partitions,
            LmrHandle board,
            Job job,
            Tables tables) {
        this.worker = worker;
        this.number = number;
        this.format = format;
        this.partitions = partitions;
        this.board = board;
        this.job = job;
        task = tables.task;
        kept = tables.kept;
        task.begin(job.combiner());
        kept.begin(job.combiner());
    }

    /** What a thread keeps from job to job. */
    static final class Tables {
        private final Table task = new Table(null);
        private final Table kept = new Table(null);
    }

    /** The task is not wanted any more. */
    static final class CancelledException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        CancelledException() {
            super("the task was cancelled", null, false, false);
        }
    }

    /**
     * What a task reports.
     *
     * @param partitions those of the runs, if there are several
     */
    record Done(Map<String, Long> counters, List<Integer> partitions, List<Run> runs) {}

    static Execution start(
            MrWorker worker,
            long number,
            String type,
            RecordFormat format,
            int partitions,
            LmrHandle board,
            Map<String, String> parameters,
            Tables tables) {
        Class<? extends Job> found;
        try {
            found = Class.forName(type, true, worker.loader()).asSubclass(Job.class);
        } catch (ClassNotFoundException | LinkageError e) {
            throw new MrException("the class %s is not on the worker's class path: %s".formatted(type, e), e);
        }
        Job job = Preparation.instantiate(found, parameters);
        return new Execution(worker, number, format, partitions, board, job, tables);
    }

    long number() {
        return number;
    }

    LmrHandle board() {
        return board;
    }

    /** A task begins. When any thread sets what is returned, the task ends at its next record or key. */
    AtomicBoolean start() {
        cancelled = new AtomicBoolean();
        task.clear();
        counters = new HashMap<>();
        return cancelled;
    }

    private void checkCancelled() {
        if (cancelled.get()) {
            throw new CancelledException();
        }
    }

    /** Executes a map task; its pairs count when {@link #keep} is called. */
    Done map(int inputNumber, long start, long end, Input input) {
        long records = 0;
        InputRecord record = new InputRecord(inputNumber);
        Pairs pairs = new Pairs(record);
        Runnable addDeferred = () -> addDeferred(record, input);
        try (Source source = Source.open(worker.lite(), input)) {
            if (source.size() < end) { // else its records would be missing without a word
                throw new MrException(
                        "%s has %d bytes for this worker, and had at least %d for the master: another file has this path here, or it became shorter"
                                .formatted(input, source.size(), end));
            }
            RecordReader reader = new RecordReader(source, record, format, start, end, addDeferred);
            while (reader.next()) {
                checkCancelled();
                map(record, pairs, input);
                records++;
            }
            addDeferred.run();
        } catch (UncheckedIOException e) {
            throw new MrException(String.valueOf(e.getMessage()), e);
        }
        counters.merge("records", records, Long::sum);
        counters.merge("pairs", pairs.count, Long::sum);
        return new Done(counters, List.of(), List.of());
    }

    private void map(InputRecord record, Emitter pairs, Input input) {
        try {
            job.map(record, pairs);
        } catch (LiteException | CancelledException e) {
            throw e;
        } catch (Throwable e) { // also an Error: without this thread the task would never end
            throw failed(record, input, e);
        }
    }

    /** What fails here was emitted by this record, or by one shortly before it. */
    private void addDeferred(InputRecord record, Input input) {
        try {
            task.addDeferred();
        } catch (Throwable e) {
            throw failed(record, input, e);
        }
    }

    private static MrException failed(InputRecord record, Input input, Throwable cause) {
        return new MrException(
                "map failed in %s, at the record at byte %d (\"%s\"): %s"
                        .formatted(input, record.position(), shown(record), cause),
                cause);
    }

    private static String shown(Slice bytes) {
        String text = new Slice()
                .set(bytes.array(), bytes.offset(), Math.min(bytes.length(), TEXT_MAX))
                .text()
                .replaceAll("\\p{Cntrl}", ".");
        return bytes.length() <= TEXT_MAX ? text : text + "…";
    }

    /** Takes the pairs of a map task. */
    private final class Pairs implements Emitter {
        private final InputRecord record;
        private long count;

        Pairs(InputRecord record) {
            this.record = record;
        }

        @Override
        public void emit(Slice key, Slice value) {
            task.add(key.array(), key.offset(), key.length(), value.array(), value.offset(), value.length());
            count++;
        }

        @Override
        public void emit(byte[] array, int keyOffset, int keyLength, long value) {
            if (array == record.array()) {
                task.defer(array, keyOffset, keyLength, value);
            } else {
                task.add(array, keyOffset, keyLength, value);
            }
            count++;
        }

        @Override
        public void count(String counter, long more) {
            counters.merge(counter, more, Long::sum);
        }
    }

    /** The master has accepted the map task: its pairs belong to this thread's results now. */
    void keep() {
        if (kept.bytes() > 0 && kept.bytes() + (long) task.bytes() > SPILL_BYTES) {
            spill();
        }
        kept.addAll(task);
        task.clear();
    }

    private void spill() {
        List<RunWriter> writers = written.computeIfAbsent(-1, key -> new ArrayList<>());
        List<RunWriter> open = new ArrayList<>();
        kept.drain(job, partitions, partition -> {
            finish(open);
            RunWriter writer = new RunWriter(worker.lite().memory());
            writers.add(writer);
            open.add(writer);
            spilledPartitions.add(partition);
            return writer;
        });
        finish(open);
        kept.clear();
    }

    private void finish(List<RunWriter> open) {
        for (RunWriter writer : open) {
            spilledRuns.add(writer.finish());
        }
        open.clear();
    }

    /** Writes the results of all accepted map tasks. */
    Done finish() {
        try {
            spill();
        } catch (LiteException | UnwrittenException | MrException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new MrException("partition or compare failed: " + e, e);
        }
        Done done = new Done(Map.of(), List.copyOf(spilledPartitions), List.copyOf(spilledRuns));
        spilledPartitions.clear();
        spilledRuns.clear();
        return done;
    }

    /** Executes a reduce task. */
    Done reduce(int id, List<Run> runs) {
        Merge merge = new Merge(worker.lite().memory(), job, runs);
        RunWriter writer = new RunWriter(worker.lite().memory());
        Result result = new Result(writer);
        long keys = 0;
        boolean complete = false;
        try {
            while (merge.nextKey()) {
                checkCancelled();
                result.key = merge.groupKey();
                reduce(merge, result);
                keys++;
            }
            counters.merge("keys", keys, Long::sum);
            Done done = new Done(counters, List.of(), List.of(writer.finish()));
            written.computeIfAbsent(id, key -> new ArrayList<>()).add(writer);
            complete = true;
            return done;
        } finally {
            if (!complete) {
                writer.free();
            }
        }
    }

    private void reduce(Merge merge, Result result) {
        try {
            job.reduce(merge.groupKey(), merge, result);
        } catch (LiteException | UnwrittenException | CancelledException e) {
            throw e;
        } catch (Throwable e) { // also an Error: without this thread the task would never end
            throw new MrException("reduce failed at the key \"%s\": %s".formatted(shown(merge.groupKey()), e), e);
        }
    }

    /** Takes what a reduce function emits. */
    private final class Result implements Reduced {
        private final RunWriter writer;
        private Slice key = new Slice();

        Result(RunWriter writer) {
            this.writer = writer;
        }

        @Override
        public void emit(Slice value) {
            if (value.length() > Emitter.VALUE_BYTES_MAX) {
                throw new IllegalArgumentException(
                        "the value has %d bytes; the limit is %d".formatted(value.length(), Emitter.VALUE_BYTES_MAX));
            }
            writer.add(key, value);
        }

        @Override
        public void count(String counter, long more) {
            counters.merge(counter, more, Long::sum);
        }
    }

    /** Executes a merge task. */
    Done merge(int id, List<Run> runs) {
        Merge merge = new Merge(worker.lite().memory(), job, runs);
        RunWriter writer = new RunWriter(worker.lite().memory());
        boolean complete = false;
        try {
            while (merge.nextPair()) {
                checkCancelled();
                writer.add(merge.key(), merge.value());
            }
            Done done = new Done(Map.of(), List.of(), List.of(writer.finish()));
            written.computeIfAbsent(id, key -> new ArrayList<>()).add(writer);
            complete = true;
            return done;
        } finally {
            if (!complete) {
                writer.free();
            }
        }
    }

    /** Frees the result of a reduce or merge task. */
    void free(int id) {
        List<RunWriter> writers = written.remove(id);
        if (writers != null) {
            writers.forEach(RunWriter::free);
        }
    }

    /** Frees everything. */
    void close() {
        task.begin(null);
        kept.begin(null);
        written.values().forEach(writers -> writers.forEach(RunWriter::free));
        written.clear();
        try {
            board.unmap();
        } catch (LiteException e) {
            // The session has ended.
        }
    }
}
