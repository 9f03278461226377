package dev.lite.mr;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The job page: what a master does now.
 *
 * @param job the class of the running or the last job; empty before the first
 * @param phase {@code idle}, {@code map}, {@code reduce}, {@code merge} or {@code output}
 * @param mapDone map tasks that are accepted
 * @param mapTotal map tasks
 * @param reduceDone reduce tasks that are done
 * @param reduceTotal reduce tasks
 * @param mergeDone merge tasks that are done
 * @param mergeTotal merge tasks
 * @param workers the live workers: {@code name at node, threads}
 * @param counters see {@link JobResult#counters}
 * @param again see {@link JobResult#again}
 */
public record JobStatus(
        String job,
        String phase,
        int mapDone,
        int mapTotal,
        int reduceDone,
        int reduceTotal,
        int mergeDone,
        int mergeTotal,
        List<String> workers,
        Map<String, Long> counters,
        List<String> again) {
    private static final int BAR = 30;

    /** The page before the first job. */
    static final JobStatus NONE = new JobStatus("", "idle", 0, 0, 0, 0, 0, 0, List.of(), Map.of(), List.of());

    /** Copies the collections. */
    public JobStatus {
        workers = List.copyOf(workers);
        counters = new TreeMap<>(counters);
        again = List.copyOf(again);
    }

    /** One line with a bar: {@code [######------] 50 % map 6/8 reduce 0/4 merge 0/3}. */
    public String progressBar() {
        int total = mapTotal + reduceTotal + mergeTotal;
        int done = mapDone + reduceDone + mergeDone;
        int marks = total == 0 ? 0 : (int) ((long) done * BAR / total);
        return "[%s%s] %3d %% map %d/%d reduce %d/%d merge %d/%d"
                .formatted(
                        "#".repeat(marks),
                        "-".repeat(BAR - marks),
                        total == 0 ? 0 : (int) (100L * done / total),
                        mapDone,
                        mapTotal,
                        reduceDone,
                        reduceTotal,
                        mergeDone,
                        mergeTotal);
    }

    /** The page as text. */
    public String toText() {
        StringBuilder text = new StringBuilder("job %s: %s%n%s%n".formatted(job, phase, progressBar()));
        workers.forEach(worker -> text.append("worker  %s%n".formatted(worker)));
        counters.forEach((name, value) -> text.append("counter %s = %,d%n".formatted(name, value)));
        again.forEach(task -> text.append("again   %s%n".formatted(task)));
        return text.toString();
    }

    /** The page as a JSON object. */
    public String toJson() {
        StringBuilder json = new StringBuilder("{");
        json.append("\"job\":").append(quoted(job)).append(",\"phase\":").append(quoted(phase));
        appendTasks(json, "map", mapDone, mapTotal);
        appendTasks(json, "reduce", reduceDone, reduceTotal);
        appendTasks(json, "merge", mergeDone, mergeTotal);
        json.append(",\"workers\":").append(array(workers)).append(",\"counters\":{");
        String separator = "";
        for (Map.Entry<String, Long> counter : counters.entrySet()) {
            json.append(separator).append(quoted(counter.getKey())).append(':').append(counter.getValue());
            separator = ",";
        }
        return json.append("},\"again\":").append(array(again)).append('}').toString();
    }

    /** Not by a format: in some locales it has other digits than JSON. */
    private static void appendTasks(StringBuilder json, String phase, int done, int total) {
        json.append(',').append(quoted(phase)).append(":{\"done\":").append(done);
        json.append(",\"total\":").append(total).append('}');
    }

    private static String array(List<String> texts) {
        return "[" + String.join(",", texts.stream().map(JobStatus::quoted).toList()) + "]";
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < ' ') {
                quoted.append("\\u%04x".formatted((int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
