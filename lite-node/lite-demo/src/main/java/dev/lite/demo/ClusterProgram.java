package dev.lite.demo;

import dev.lite.local.ProcessFailedException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * A program that starts a cluster, does something with it, and ends. It prints a failure as one message, and stops the cluster when it is
 * interrupted and when Maven is killed.
 */
interface ClusterProgram {

    /** Does the work and prints the results. Returns true if all is well. Stops the cluster. */
    boolean run();

    /** Stops relaying the applications' output, because they log errors while being stopped. Any thread. */
    void interrupted();

    /**
     * Runs a program and ends this JVM. The exit status is 0 only if all is well.
     *
     * @param name the name for messages, with which a sentence begins
     * @param creator gets the stream for the program's output
     */
    static void main(String name, Function<PrintStream, ClusterProgram> creator) {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        AtomicBoolean done = new AtomicBoolean();
        endWithParent();
        boolean well = false;
        try {
            ClusterProgram program = creator.apply(out);
            Runtime.getRuntime()
                    .addShutdownHook(Thread.ofPlatform().name("interrupted").unstarted(() -> {
                        if (!done.getAndSet(true)) {
                            program.interrupted();
                            print(out, "Interrupted: stopping the cluster and removing its directories");
                        }
                    }));
            well = program.run();
        } catch (DemoFailedException
                | ProcessFailedException
                | IllegalArgumentException
                | IllegalStateException
                | UncheckedIOException e) {
            if (!done.get()) {
                print(out, name + " failed: " + e.getMessage());
            }
        }
        if (!done.getAndSet(true)) {
            System.exit(well ? 0 : 1);
        }
    }

    private static void print(PrintStream out, String line) {
        out.println(line);
        out.flush();
    }

    /** Ends this process when Maven is killed. */
    private static void endWithParent() {
        int statusTerminated = 128 + 15;
        ProcessHandle.current()
                .parent()
                .ifPresent(parent -> Thread.ofPlatform()
                        .daemon()
                        .name("parent watch")
                        .start(() -> {
                            parent.onExit().join();
                            Runtime.getRuntime().exit(statusTerminated);
                        }));
    }
}
