package dev.lite.bench.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * One side of a contender in its own process. It answers each line of its input with one line: {@code ok …} or {@code
 * error …}. It ends with its input, so it never outlives the benchmark.
 *
 * <ul>
 *   <li>{@code prepare NUMBER WORKLOAD}
 *   <li>{@code run NUMBER MILLISECONDS} answers with a {@link Sample}; for callers only
 * </ul>
 */
public final class PartyMain {
    static final String SERVER = "server";
    static final String CALLER = "caller";
    static final String OK = "ok ";
    static final String ERROR = "error ";

    private PartyMain() {}

    /**
     * Runs until the input ends.
     *
     * @param arguments {@link #SERVER} or {@link #CALLER}, the contender's name, the server's address, and the arguments of
     *     {@link Contender#openServer} or {@link Contender#openCaller}
     */
    public static void main(String[] arguments) throws IOException {
        Contender contender = Contender.named(arguments[1]).orElseThrow();
        List<String> own = List.of(arguments).subList(3, arguments.length);
        if (arguments[0].equals(SERVER)) {
            try (Server server = contender.openServer(own)) {
                System.out.println(OK + server.address());
                answer(line -> {
                    server.prepare(Workload.parse(line.split(" ", 3)[2]));
                    return "";
                });
            }
        } else {
            try (Caller caller = contender.openCaller(own, arguments[2])) {
                System.out.println(OK);
                Map<String, ClosedLoop> loops = new HashMap<>();
                answer(line -> command(caller, loops, line));
            }
        }
        System.exit(0); // also when a peer left threads behind
    }

    private static String command(Caller caller, Map<String, ClosedLoop> loops, String line) {
        String[] words = line.split(" ", 3);
        if (words[0].equals("prepare")) {
            Workload workload = Workload.parse(words[2]);
            List<Operation> operations = new ArrayList<>();
            for (int thread = 0; thread < workload.callers(); thread++) {
                operations.add(caller.operation(workload, thread));
            }
            loops.put(words[1], new ClosedLoop(operations, workload.virtual()));
            return "";
        }
        ClosedLoop loop = loops.get(words[1]);
        if (loop == null) {
            throw new IllegalArgumentException("not prepared: " + line);
        }
        return loop.run(TimeUnit.MILLISECONDS.toNanos(Long.parseLong(words[2]))).toLine();
    }

    /** Answers each line of the input until it ends. */
    public static void answer(UnaryOperator<String> commands) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                answer = OK + commands.apply(line);
            } catch (RuntimeException e) {
                e.printStackTrace();
                answer = ERROR + e.toString().replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }
}
