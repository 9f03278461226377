package dev.lite.cli;

import dev.lite.api.Lite;
import dev.lite.mr.Input;
import dev.lite.mr.JobResult;
import dev.lite.mr.JobSpec;
import dev.lite.mr.JobStatus;
import dev.lite.mr.MapReduce;
import dev.lite.mr.MrWorker;
import dev.lite.mr.Output;
import dev.lite.mr.RecordFormat;
import dev.lite.mr.WorkerOptions;
import dev.lite.mr.job.Job;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code lite mr}. */
@Command(
        name = "mr",
        description = "Runs MapReduce jobs, and works for them.",
        mixinStandardHelpOptions = true,
        subcommands = {MrCommand.Run.class, MrCommand.Worker.class})
final class MrCommand implements Runnable {
    private static final String LMR = "lmr:";
    private static final int WORKERS_MAX = 64;
    private static final long HEAP_BYTES_MIN = 16 << 20;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public void run() {
        if (spec != null) {
            throw new ParameterException(spec.commandLine(), "missing command: run or worker");
        }
    }

    private static void checkNumber(String option, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("%s is %d; it must be %d to %d".formatted(option, value, min, max));
        }
    }

    private static void checkGroup(String group) {
        if (group.isBlank() || group.length() > MapReduce.GROUP_CHARS_MAX) {
            throw new IllegalArgumentException(
                    "--group is \"%s\"; it must have 1 to %d characters".formatted(group, MapReduce.GROUP_CHARS_MAX));
        }
    }

    /** {@code lite mr run}. */
    @Command(
            name = "run",
            description = {
                "Runs a job of a jar, and waits for its end.",
                "It starts worker processes, attached to the node of --socket, else to the nodes of the cluster started by \"up\" in turn. They end with it. More workers, also on other hosts, join with: lite mr worker JAR --group NAME"
            },
            mixinStandardHelpOptions = true)
    static final class Run extends DataCommands.Data {
        private static final Duration WORKER_WAIT = Duration.ofSeconds(30);

        @Parameters(paramLabel = "JAR", description = "The jar with the job, and what the job uses")
        private Path jar = Path.of("");

        @Option(
                names = "--job",
                paramLabel = "CLASS",
                description = "The job's class. Default: the only one in the jar")
        private @Nullable String job;

        @Option(
                names = "--input",
                required = true,
                paramLabel = "INPUT",
                description = "A file that all workers can read, or lmr:NAME; may be repeated")
        private List<String> inputs = List.of();

        @Option(
                names = "--output",
                required = true,
                paramLabel = "OUTPUT",
                description = "A file for the result, or lmr:NAME for a new LMR")
        private String output = "";

        @Option(names = "--set", paramLabel = "NAME=VALUE", description = "A parameter of the job; may be repeated")
        private Map<String, String> parameters = new LinkedHashMap<>();

        @Option(
                names = "--workers",
                paramLabel = "N",
                defaultValue = "2",
                description = "The number of worker processes to start; 0 for none. Default: ${DEFAULT-VALUE}")
        private int workers = 2;

        @Option(
                names = "--threads",
                paramLabel = "N",
                defaultValue = "1",
                description = "The number of threads of each of them. Default: ${DEFAULT-VALUE}")
        private int threads = 1;

        @Option(
                names = "--heap",
                paramLabel = "SIZE",
                defaultValue = "512MB",
                description = "The Java heap of each of them. Default: ${DEFAULT-VALUE}")
        private String heap = "512MB";

        @Option(
                names = "--partitions",
                paramLabel = "N",
                defaultValue = "4",
                description = "The number of reduce tasks. Default: ${DEFAULT-VALUE}")
        private int partitions = 4;

        @Option(
                names = "--split",
                paramLabel = "SIZE",
                defaultValue = "4MB",
                description = "How much one map task reads. Default: ${DEFAULT-VALUE}")
        private String split = "4MB";

        @Option(
                names = "--record",
                paramLabel = "N",
                defaultValue = "0",
                description = "The length of a record in bytes; 0 for lines. Default: ${DEFAULT-VALUE}")
        private int record;

        @Option(
                names = "--header",
                paramLabel = "N",
                defaultValue = "0",
                description = "The bytes before the first record of each input. Default: ${DEFAULT-VALUE}")
        private long header;

        @Option(
                names = "--group",
                paramLabel = "GROUP",
                description = "The group of workers. Default: one that no other process uses")
        private @Nullable String group;

        @Option(names = "--json", description = "Prints the job page as JSON")
        private boolean json;

        /** Not the process id: in containers and on other hosts, other processes of the cluster have the same. */
        private final String ownGroup = "lite-mr-run-" + UUID.randomUUID();

        @Override
        void validate() {
            checkNumber("--workers", workers, 0, WORKERS_MAX);
            checkNumber("--threads", threads, 1, WorkerOptions.THREADS_MAX);
            checkNumber("--partitions", partitions, 1, JobSpec.PARTITIONS_MAX);
            checkNumber("--record", record, 0, RecordFormat.RECORD_BYTES_MAX);
            checkNumber("--header", header, 0, Long.MAX_VALUE);
            long unused = heapBytes() + splitBytes();
            checkGroup(group());
            JobJar.check(jar);
        }

        private long heapBytes() {
            long bytes = ByteSizes.parse("--heap", heap);
            if (bytes < HEAP_BYTES_MIN) {
                throw new IllegalArgumentException("--heap is %s; it must be at least 16MB".formatted(heap));
            }
            return bytes;
        }

        private long splitBytes() {
            long bytes = ByteSizes.parse("--split", split);
            if (bytes < 1) {
                throw new IllegalArgumentException("--split is %s; it must be at least 1B".formatted(split));
            }
            return bytes;
        }

        /** The given group, or one that no other process uses. */
        String group() {
            return group == null ? ownGroup : group;
        }

        @Override
        void act(Lite lite) throws IOException {
            try (JobJar opened = JobJar.open(jar);
                    MapReduce master = MapReduce.open(lite, group());
                    WorkerProcesses processes = new WorkerProcesses(jar, group(), threads, heapBytes())) {
                JobSpec spec = spec(opened.job(job));
                processes.start(session(), workers);
                JobResult result = master.run(spec, new Progress()::show);
                JobStatus status = master.status();
                out().print(json ? status.toJson() + "\n" : status.toText());
                if (!json) {
                    String pairs = result.pairCount() == 1 ? "1 pair" : "%,d pairs".formatted(result.pairCount());
                    out().println("%s in %s".formatted(pairs, output));
                }
                out().flush();
            }
        }

        private JobSpec spec(Class<? extends Job> type) {
            Input[] opened = inputs.stream()
                    .map(name ->
                            name.startsWith(LMR) ? Input.lmr(name.substring(LMR.length())) : Input.file(Path.of(name)))
                    .toArray(Input[]::new);
            return JobSpec.of(type, opened)
                    .withOutput(
                            output.startsWith(LMR)
                                    ? Output.lmr(output.substring(LMR.length()))
                                    : Output.file(Path.of(output)))
                    .withParameters(parameters)
                    .withFormat(new RecordFormat(header, record))
                    .withPartitions(partitions)
                    .withSplitBytes(splitBytes())
                    .withWorkerWait(WORKER_WAIT);
        }

        /** Prints the bar when it has changed. */
        private final class Progress {
            private String shown = "";

            void show(JobStatus status) {
                String bar = status.progressBar();
                if (!bar.equals(shown)) {
                    shown = bar;
                    err().println(bar);
                    err().flush();
                }
            }
        }
    }

    /** {@code lite mr worker}. */
    @Command(
            name = "worker",
            description = "Works for the jobs of a group, until its node or this process ends.",
            mixinStandardHelpOptions = true)
    static final class Worker extends DataCommands.Data {
        @Parameters(paramLabel = "JAR", description = "The jar with the jobs, and what they use")
        private Path jar = Path.of("");

        @Option(names = "--group", required = true, paramLabel = "GROUP", description = "The group of workers")
        private String group = "";

        @Option(
                names = "--threads",
                paramLabel = "N",
                defaultValue = "1",
                description = "How many tasks it executes at the same time. Default: ${DEFAULT-VALUE}")
        private int threads = 1;

        @Option(names = "--until-end-of", paramLabel = "PROCESS-ID", description = "Ends when this process ends")
        private @Nullable Long parent;

        @Override
        void validate() {
            checkNumber("--threads", threads, 1, WorkerOptions.THREADS_MAX);
            checkGroup(group);
            JobJar.check(jar);
        }

        @Override
        void act(Lite lite) throws IOException {
            try (JobJar opened = JobJar.open(jar)) {
                Thread.currentThread().setContextClassLoader(opened.loader());
                WorkerOptions options = WorkerOptions.of(group).withThreads(threads);
                try (MrWorker worker = MrWorker.start(lite, options)) {
                    if (parent == null) {
                        out().println("%s works for %s, attached to %s"
                                .formatted(options.name(), group, lite.nodeName()));
                        out().flush();
                    } else {
                        endWith(parent, lite);
                    }
                    worker.join();
                }
            }
            if (parent == null) {
                throw new CommandFailedException(ExitStatus.FAILED, "the node has ended the session");
            }
        }

        private static void endWith(long process, Lite lite) {
            Optional<ProcessHandle> running = ProcessHandle.of(process);
            if (running.isEmpty()) {
                lite.close();
                return;
            }
            CompletableFuture<Void> unused = running.get().onExit().thenRun(lite::close);
        }
    }
}
