package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.mr.job.Job;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The command line of LITE-MR: a worker beside a node, or a job over files. Needs lite-client, and the job's class, on the class path.
 *
 * <pre>{@code
 * dev.lite.mr.MrMain worker SOCKET GROUP THREADS
 * dev.lite.mr.MrMain run SOCKET GROUP JOB-CLASS OUTPUT-FILE INPUT-FILE… [NAME=VALUE…]
 * }</pre>
 */
public final class MrMain {
    private static final String USAGE = """
            usage: worker SOCKET GROUP THREADS
                   run SOCKET GROUP JOB-CLASS OUTPUT-FILE INPUT-FILE... [NAME=VALUE...]""";
    private static final int WRONG = 2;
    private static final int RUN_WORDS_MIN = 6;

    private MrMain() {}

    /** Runs a worker until its session ends or the process is ended, or a job until it is done. */
    public static void main(String[] arguments) {
        List<String> words = Arrays.asList(arguments);
        try {
            if (words.size() == 4 && words.getFirst().equals("worker")) {
                worker(words);
            } else if (words.size() >= RUN_WORDS_MIN && words.getFirst().equals("run")) {
                run(words);
            } else {
                System.err.println(USAGE);
                System.exit(WRONG);
            }
        } catch (LiteException | MrException | IllegalArgumentException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
    }

    private static void worker(List<String> words) {
        WorkerOptions options = WorkerOptions.of(words.get(2)).withThreads(Integer.parseInt(words.get(3)));
        try (Lite lite = attach(words);
                MrWorker worker = MrWorker.start(lite, options)) {
            System.out.println("ok " + options.name());
            worker.join();
        }
    }

    private static void run(List<String> words) {
        Class<? extends Job> type;
        try {
            type = Class.forName(words.get(3)).asSubclass(Job.class);
        } catch (ClassNotFoundException e) {
            throw new MrException("the class %s is not on the class path".formatted(words.get(3)), e);
        }
        List<Input> inputs = new ArrayList<>();
        Map<String, String> parameters = new HashMap<>();
        for (String word : words.subList(RUN_WORDS_MIN - 1, words.size())) {
            int equals = word.indexOf('=');
            if (equals < 0) {
                inputs.add(Input.file(Path.of(word)));
            } else {
                parameters.put(word.substring(0, equals), word.substring(equals + 1));
            }
        }
        JobSpec spec = JobSpec.of(type, inputs.toArray(new Input[0]))
                .withOutput(Output.file(Path.of(words.get(4))))
                .withParameters(parameters);
        try (Lite lite = attach(words);
                MapReduce master = MapReduce.open(lite, words.get(2))) {
            JobResult result = master.run(spec, status -> System.out.println(status.progressBar()));
            System.out.print(master.status().toText());
            String pairs = result.pairCount() == 1 ? "1 pair" : "%,d pairs".formatted(result.pairCount());
            System.out.printf("%s in %s%n", pairs, words.get(4));
        }
    }

    private static Lite attach(List<String> words) {
        return Lite.attach(Lite.AttachOptions.to(Path.of(words.get(1)), "lite-mr"));
    }
}
