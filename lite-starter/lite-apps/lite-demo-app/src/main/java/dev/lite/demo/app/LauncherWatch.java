package dev.lite.demo.app;

import java.util.concurrent.CompletableFuture;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Ends this application when the process that launched it is gone, however it went. */
@Component
@ConditionalOnProperty("lite.exit-with-pid")
final class LauncherWatch {

    private static final int STATUS_TERMINATED = 128 + 15;

    private final CompletableFuture<Void> end;

    LauncherWatch(@Value("${lite.exit-with-pid}") long pid) {
        end = ProcessHandle.of(pid)
                .map(launcher -> launcher.onExit().thenAccept(gone -> {}))
                .orElseGet(() -> CompletableFuture.completedFuture(null))
                .thenRun(() -> Runtime.getRuntime().exit(STATUS_TERMINATED));
    }

    boolean launcherIsGone() {
        return end.isDone();
    }
}
