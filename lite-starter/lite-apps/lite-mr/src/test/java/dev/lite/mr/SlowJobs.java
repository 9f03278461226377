package dev.lite.mr;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Reduced;
import dev.lite.mr.job.Slice;
import dev.lite.mr.job.Values;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Jobs that stop at a chosen point, until a test lets them continue or kills their worker; and jobs that fail. */
public final class SlowJobs {
    private SlowJobs() {}

    /**
     * A point at which a task stops: the first one to arrive makes a file with the number of its process, and waits until the file {@code
     * go} exists. Others pass.
     */
    record Gate(Path directory) {
        static Gate of(Map<String, String> parameters) {
            return new Gate(Path.of(parameters.getOrDefault("gate", "/nowhere")));
        }

        Path go() {
            return directory.resolve("go");
        }

        Path stopped() {
            return directory.resolve("stopped");
        }

        /** Whether this process came first. */
        boolean stop() {
            if (Files.exists(go()) || Files.exists(stopped())) {
                return false;
            }
            Path mine = directory.resolve("pid-" + ProcessHandle.current().pid() + "-"
                    + Thread.currentThread().threadId());
            try {
                Files.writeString(mine, Long.toString(ProcessHandle.current().pid()));
                Files.createLink(stopped(), mine);
            } catch (java.nio.file.FileAlreadyExistsException e) {
                return false;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            Waits.until("the test lets the task continue", Waits.seconds(60), () -> Files.exists(go()));
            return true;
        }

        /** Waits until a task has stopped, and returns the number of its process. */
        long awaitStopped() {
            Waits.until("a task stops", Waits.seconds(60), () -> Files.exists(stopped()));
            return Long.parseLong(TestTexts.read(stopped()).trim());
        }

        void open() {
            try {
                Files.writeString(go(), "");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Word count whose first map task that reaches the word {@code end} stops. */
    public static final class SlowMap extends Job {
        private final WordCount words = new WordCount();
        private Gate gate = new Gate(Path.of("/nowhere"));

        /** For LITE-MR. */
        public SlowMap() {}

        @Override
        public void setup(Map<String, String> parameters) {
            gate = Gate.of(parameters);
        }

        @Override
        public void map(InputRecord record, Emitter out) {
            if (record.position() > 20_000) {
                gate.stop();
            }
            words.map(record, out);
        }

        @Override
        public Combiner combiner() {
            return Combiner.SUM;
        }
    }

    /** Fails with a message that is longer than any message of LITE. */
    public static final class Verbose extends Job {
        /** For LITE-MR. */
        public Verbose() {}

        @Override
        public void map(InputRecord record, Emitter out) {
            throw new IllegalStateException("cannot digest " + "it".repeat(100_000));
        }
    }

    /** Word count whose first reduce task stops in the middle. */
    public static final class SlowReduce extends Job {
        private final WordCount words = new WordCount();
        private Gate gate = new Gate(Path.of("/nowhere"));

        /** For LITE-MR. */
        public SlowReduce() {}

        @Override
        public void setup(Map<String, String> parameters) {
            gate = Gate.of(parameters);
        }

        @Override
        public void map(InputRecord record, Emitter out) {
            words.map(record, out);
        }

        @Override
        public Combiner combiner() {
            return Combiner.SUM;
        }

        @Override
        public void reduce(Slice key, Values values, Reduced out) {
            if (key.length() > 3) {
                gate.stop();
            }
            super.reduce(key, values, out);
        }
    }

    /** Word count whose first late map task and whose first reduce task stop, the latter at a gate in the directory {@code second}. */
    public static final class SlowMapAndReduce extends Job {
        private final SlowMap map = new SlowMap();
        private final SlowReduce reduce = new SlowReduce();

        /** For LITE-MR. */
        public SlowMapAndReduce() {}

        @Override
        public void setup(Map<String, String> parameters) {
            map.setup(parameters);
            reduce.setup(Map.of("gate", parameters.get("second")));
        }

        @Override
        public void map(InputRecord record, Emitter out) {
            map.map(record, out);
        }

        @Override
        public Combiner combiner() {
            return Combiner.SUM;
        }

        @Override
        public void reduce(Slice key, Values values, Reduced out) {
            reduce.reduce(key, values, out);
        }
    }

    /** Word count whose first merge task stops: the only task that compares keys outside of map and reduce. */
    public static final class SlowMerge extends Job {
        private final WordCount words = new WordCount();
        private Gate gate = new Gate(Path.of("/nowhere"));

        /** For LITE-MR. */
        public SlowMerge() {}

        @Override
        public void setup(Map<String, String> parameters) {
            gate = Gate.of(parameters);
        }

        @Override
        public void map(InputRecord record, Emitter out) {
            words.map(record, out);
        }

        @Override
        public Combiner combiner() {
            return Combiner.SUM;
        }

        @Override
        public int compare(Slice left, Slice right) {
            if (isMerging()) {
                gate.stop();
            }
            return left.compareTo(right);
        }
    }

    private static boolean isMerging() {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().equals("merge")));
    }

    /** Fails at the line "poison". */
    public static final class Poisoned extends Job {
        /** For LITE-MR. */
        public Poisoned() {}

        @Override
        public void map(InputRecord record, Emitter out) {
            if (record.text().equals("poison")) {
                throw new IllegalStateException("cannot digest it");
            }
            out.emit(record, 1);
        }
    }

    /** Fails with an error, as an assertion does. */
    public static final class Asserting extends Job {
        /** For LITE-MR. */
        public Asserting() {}

        @Override
        public void map(InputRecord record, Emitter out) {
            throw new AssertionError("cannot digest it");
        }
    }

    /** Counts the lines. */
    private abstract static class EachLine extends Job {
        @Override
        public void map(InputRecord record, Emitter out) {
            out.emit(record, 1);
        }
    }

    /** Fails in reduce, at the key "poison". */
    public static final class PoisonedReduce extends EachLine {
        /** For LITE-MR. */
        public PoisonedReduce() {}

        @Override
        public void reduce(Slice key, Values values, Reduced out) {
            if (key.text().equals("poison")) {
                throw new IllegalStateException("cannot digest it");
            }
            super.reduce(key, values, out);
        }
    }

    /** Fails when it writes the result. */
    public static final class PoisonedFormat extends EachLine {
        /** For LITE-MR. */
        public PoisonedFormat() {}

        @Override
        public void format(Slice key, Slice value, StringBuilder line) {
            throw new IllegalStateException("cannot digest it");
        }
    }

    /** Fails when the results of map are written. */
    public static final class PoisonedPartition extends EachLine {
        /** For LITE-MR. */
        public PoisonedPartition() {}

        @Override
        public int partition(Slice key, int hash, int partitions) {
            throw new IllegalStateException("cannot digest it");
        }
    }

    /** Fails when a merge task compares keys. */
    public static final class PoisonedMerge extends EachLine {
        /** For LITE-MR. */
        public PoisonedMerge() {}

        @Override
        public int compare(Slice left, Slice right) {
            if (isMerging()) {
                throw new IllegalStateException("cannot digest it");
            }
            return left.compareTo(right);
        }
    }

    /** Emits each line with itself as its value, without a combiner, so that reduce and merge write as much as map. */
    public static final class Doubling extends Job {
        /** For LITE-MR. */
        public Doubling() {}

        @Override
        public void map(InputRecord record, Emitter out) {
            out.emit(record, record);
        }
    }

    /** Counts words, in the reverse of their order, and puts those that begin with a {@code w} into the first partition. */
    public static final class Reversed extends Job {
        private final WordCount words = new WordCount();

        /** For LITE-MR. */
        public Reversed() {}

        @Override
        public void map(InputRecord record, Emitter out) {
            words.map(record, out);
        }

        @Override
        public Combiner combiner() {
            return Combiner.SUM;
        }

        @Override
        public int partition(Slice key, int hash, int partitions) {
            return key.byteAt(0) == 'w' ? 0 : partitions - 1;
        }

        @Override
        public int compare(Slice left, Slice right) {
            return right.compareTo(left);
        }

        @Override
        public void reduce(Slice key, Values values, Reduced out) {
            out.count(key.byteAt(0) == 'w' ? "first" : "last", 1);
            super.reduce(key, values, out);
        }
    }

    /** Emits each line many times, without a combiner. */
    public static final class Expanding extends Job {
        /** For LITE-MR. */
        public Expanding() {}

        @Override
        public void map(InputRecord record, Emitter out) {
            Slice large = Slice.of(new byte[100_000]);
            for (int i = 0; i < 100; i++) {
                out.emit(record, large);
            }
        }

        @Override
        public @Nullable Combiner combiner() {
            return null;
        }
    }

    /** Emits a key of the length that the parameter {@code length} says. */
    public static final class LongKey extends Job {
        private int length;

        /** For LITE-MR. */
        public LongKey() {}

        @Override
        public void setup(Map<String, String> parameters) {
            length = Integer.parseInt(parameters.getOrDefault("length", "1"));
        }

        @Override
        public void map(InputRecord record, Emitter out) {
            out.emit(Slice.of(new byte[length]), 1);
        }
    }

    /** Is not public, so no worker can make one. */
    static final class Hidden extends Job {
        @Override
        public void map(InputRecord record, Emitter out) {}
    }
}
