package dev.lite.demo;

import dev.lite.local.ProcessFailedException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;

/** Runs the demo; the exit status is 0 only if every comparison held. */
public final class DemoMain {

    private static final int STATUS_TERMINATED = 128 + 15;

    private DemoMain() {}

    /** No arguments; the settings are system properties {@code lite.demo.*}, see the module's pom.xml. */
    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        AtomicBoolean done = new AtomicBoolean();
        endWithParent();
        boolean held = false;
        try {
            DemoRun run = new DemoRun(DemoSettings.of(System.getProperties()), out);
            Runtime.getRuntime()
                    .addShutdownHook(Thread.ofPlatform().name("interrupted").unstarted(() -> {
                        if (!done.getAndSet(true)) {
                            run.interrupted();
                            print(out, "Interrupted: stopping the cluster and removing its directories");
                        }
                    }));
            held = run.run();
        } catch (DemoFailedException
                | ProcessFailedException
                | IllegalArgumentException
                | IllegalStateException
                | UncheckedIOException e) {
            if (!done.get()) {
                print(out, "The demo failed: " + e.getMessage());
            }
        }
        if (!done.getAndSet(true)) {
            System.exit(held ? 0 : 1);
        }
    }

    private static void print(PrintStream out, String line) {
        out.println(line);
        out.flush();
    }

    /** Ends the demo when Maven is killed. */
    private static void endWithParent() {
        ProcessHandle.current()
                .parent()
                .ifPresent(parent -> Thread.ofPlatform()
                        .daemon()
                        .name("parent watch")
                        .start(() -> {
                            parent.onExit().join();
                            Runtime.getRuntime().exit(STATUS_TERMINATED);
                        }));
    }
}
