package dev.lite.rdma.vm;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs test classes and writes a line for each finished test immediately, so that a crash of the machine loses no result. A
 * line has outcome, class, test, milliseconds and message, separated by tabs. Stack traces go to standard output.
 */
final class GuestTests implements TestExecutionListener {
    static final String END = "END";

    private final PrintStream results;
    private final Map<String, Long> startedNs = new ConcurrentHashMap<>();
    private volatile @Nullable TestPlan plan;

    private GuestTests(PrintStream results) {
        this.results = results;
    }

    /**
     * Runs the test classes.
     *
     * @param arguments the result file, then the class names
     */
    public static void main(String[] arguments) throws ClassNotFoundException {
        try (PrintStream results =
                new PrintStream(Files.newOutputStream(Path.of(arguments[0])), true, StandardCharsets.UTF_8)) {
            LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
            for (String name : arguments) {
                if (!name.equals(arguments[0])) {
                    request.selectors(selectClass(Class.forName(name)));
                }
            }
            LauncherDiscoveryRequest built = request.build();
            LauncherFactory.create().execute(built, new GuestTests(results));
            results.println(END);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // Exit even if a test has left a thread behind.
        System.exit(0);
    }

    @Override
    public void testPlanExecutionStarted(TestPlan started) {
        plan = started;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        startedNs.put(test.getUniqueId(), System.nanoTime());
        if (test.isTest()) {
            System.out.println("-- " + name(test));
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        write(Outcome.SKIPPED, test, reason);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        Throwable thrown = result.getThrowable().orElse(null);
        String message = thrown == null ? "" : String.valueOf(thrown.getMessage());
        if (thrown != null && result.getStatus() == TestExecutionResult.Status.FAILED) {
            StringWriter trace = new StringWriter();
            thrown.printStackTrace(new PrintWriter(trace));
            System.out.println(trace);
            message = thrown.toString();
        }
        switch (result.getStatus()) {
            case SUCCESSFUL -> {
                if (test.isTest()) {
                    write(Outcome.PASSED, test, message);
                }
            }
            case ABORTED -> write(Outcome.SKIPPED, test, message);
            case FAILED -> write(Outcome.FAILED, test, message);
        }
    }

    private synchronized void write(Outcome outcome, TestIdentifier test, String message) {
        Long started = startedNs.remove(test.getUniqueId());
        long ms = started == null ? 0 : (System.nanoTime() - started) / 1_000_000;
        String line = Stream.of(outcome.name(), className(test), name(test), Long.toString(ms), message)
                .map(one -> one.replaceAll("\\s+", " "))
                .reduce((left, right) -> left + "\t" + right)
                .orElseThrow();
        results.println(line);
        System.out.println("-- " + line);
    }

    /** The outermost container below the engine: the class. */
    private String className(TestIdentifier test) {
        TestIdentifier at = test;
        for (TestIdentifier up = parent(at); up != null && parent(up) != null; up = parent(at)) {
            at = up;
        }
        return at.getDisplayName();
    }

    /** The display name, prefixed with those of the containers between the test and its class. */
    private String name(TestIdentifier test) {
        TestIdentifier up = parent(test);
        TestIdentifier above = up == null ? null : parent(up);
        boolean belowClass = above != null && parent(above) != null;
        return belowClass && up != null ? name(up) + " / " + test.getDisplayName() : test.getDisplayName();
    }

    private @Nullable TestIdentifier parent(TestIdentifier test) {
        TestPlan running = plan;
        return running == null ? null : running.getParent(test).orElse(null);
    }

    enum Outcome {
        PASSED,
        FAILED,
        SKIPPED
    }
}
