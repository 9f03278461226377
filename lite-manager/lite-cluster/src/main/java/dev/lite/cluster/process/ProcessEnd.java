package dev.lite.cluster.process;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Notifies of the end of another process. */
public final class ProcessEnd {
    private ProcessEnd() {}

    /**
     * Runs {@code action} once, on a thread of its own, when the process has ended; immediately when no process has this
     * id.
     */
    public static void whenEnded(long pid, Runnable action) {
        Optional<ProcessHandle> process = ProcessHandle.of(pid);
        Runnable named = () -> {
            Thread unused = Thread.ofPlatform().name("lite-end-of-" + pid).start(action);
        };
        if (process.isEmpty()) {
            named.run();
        } else {
            CompletableFuture<Void> unused = process.get().onExit().thenRun(named);
        }
    }
}
