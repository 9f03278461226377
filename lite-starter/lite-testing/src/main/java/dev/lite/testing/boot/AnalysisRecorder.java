package dev.lite.testing.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalysisReporter;

/** Keeps the last analysis of a failed start of this thread. */
public final class AnalysisRecorder implements FailureAnalysisReporter {
    private static final ThreadLocal<@Nullable FailureAnalysis> LAST = new ThreadLocal<>();

    /** Created by Spring Boot. */
    public AnalysisRecorder() {}

    @Override
    public void report(FailureAnalysis analysis) {
        LAST.set(analysis);
    }

    /** The last analysis, once; null if there is none. */
    public static @Nullable FailureAnalysis take() {
        FailureAnalysis last = LAST.get();
        LAST.remove();
        return last;
    }
}
