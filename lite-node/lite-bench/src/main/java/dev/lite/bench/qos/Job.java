package dev.lite.bench.qos;

import dev.lite.api.Priority;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * What one thread of a workload does.
 *
 * @param application its name; threads of one application share a session
 * @param priority of the application
 * @param write whether it writes or reads
 * @param bytes of a request
 * @param beginMs when it begins
 * @param requests how many requests it makes
 * @param thenRequests how many more it makes after a pause of {@link #PAUSE_MS}
 */
record Job(
        String application, Priority priority, boolean write, int bytes, int beginMs, int requests, int thenRequests) {
    static final int PAUSE_MS = 2000;

    /** Until the end of the run. */
    private static final int ENDLESS = Integer.MAX_VALUE;

    private static final int KB4 = 4 << 10;
    private static final int KB8 = 8 << 10;
    private static final int LOW_REQUESTS = 600_000;
    private static final int HIGH_REQUESTS = 200_000;
    private static final int THEN_REQUESTS = 100_000;
    private static final int HIGH_THREADS = 20;
    private static final int PAUSING = 8;
    private static final int LOW_OF_A_KIND = 5;
    private static final int HIGH_BEGIN_MS = 2000;

    /** The workload of figure 16, with its numbers of requests by a factor. */
    static List<Job> figure(double factor) {
        return Stream.concat(
                        low((int) (LOW_REQUESTS * factor)).stream(),
                        high(HIGH_BEGIN_MS, (int) (HIGH_REQUESTS * factor), (int) (THEN_REQUESTS * factor)).stream())
                .toList();
    }

    /** The 20 threads of low priority of figure 16, until the end of the run. */
    static List<Job> low() {
        return low(ENDLESS);
    }

    /** The 20 threads of high priority. */
    static List<Job> high() {
        return high(0, ENDLESS, 0);
    }

    /** Both. */
    static List<Job> both() {
        return Stream.concat(low().stream(), high().stream()).toList();
    }

    private static List<Job> low(int requests) {
        return low(requests, 1);
    }

    /** Of so many applications; the first one is {@code batch}, the others have a number. */
    private static List<Job> low(int requests, int applications) {
        List<Job> jobs = new ArrayList<>();
        for (int thread = 0; thread < LOW_OF_A_KIND; thread++) {
            int number = thread % applications;
            String application = number == 0 ? "batch" : "batch-" + number;
            jobs.add(new Job(application, Priority.LOW, true, KB4, 0, requests, 0));
            jobs.add(new Job(application, Priority.LOW, true, KB8, 0, requests, 0));
            jobs.add(new Job(application, Priority.LOW, false, KB4, 0, requests, 0));
            jobs.add(new Job(application, Priority.LOW, false, KB4, 0, requests, 0));
        }
        return jobs;
    }

    private static List<Job> high(int beginMs, int requests, int then) {
        List<Job> jobs = new ArrayList<>();
        for (int thread = 0; thread < HIGH_THREADS; thread++) {
            jobs.add(new Job(
                    "shop", Priority.HIGH, thread % 2 == 0, KB4, beginMs, requests, thread < PAUSING ? then : 0));
        }
        return jobs;
    }

    /** Both, but the threads of low priority are those of five applications. */
    static List<Job> many() {
        return Stream.concat(low(ENDLESS, LOW_OF_A_KIND).stream(), high().stream())
                .toList();
    }

    /** Ten applications of one priority with 1 to 4 threads and requests of 1 to 64 KiB, all writing. */
    static List<Job> equals(Priority priority) {
        List<Job> jobs = new ArrayList<>();
        for (int application = 0; application < 10; application++) {
            int threads = 1 + application % 4;
            int bytes = 1 << (12 + application % 5);
            for (int thread = 0; thread < threads; thread++) {
                jobs.add(new Job("app-" + application, priority, true, bytes, 0, ENDLESS, 0));
            }
        }
        return jobs;
    }

    /** A set by its name on the command line of {@link QosParty}. */
    static List<Job> named(String name) {
        return switch (name) {
            case "high" -> high();
            case "low" -> low();
            case "both" -> both();
            case "many" -> many();
            case "equals-high" -> equals(Priority.HIGH);
            case "equals-low" -> equals(Priority.LOW);
            default -> throw new IllegalArgumentException("no workload \"%s\"".formatted(name));
        };
    }
}
