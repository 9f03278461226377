package dev.lite.rdma.vm;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** A machine that runs programs: a virtual one, or this one. Any thread. */
interface Machine extends AutoCloseable {
    /** Its name, for messages. */
    String name();

    /** The IPv4 address of its device. */
    String address();

    /** A directory shared with this JVM; the programs' working directory. {@link #inside} returns its path in the machine. */
    Path directory();

    /** The path in the machine of a file in {@link #directory}. */
    String inside(String file);

    /** The path in the machine of an in-memory directory that is removed with the machine: for arenas and sockets. */
    String memory();

    /** Starts a shell script; use {@code exec} in it so that {@link Running#kill} kills the program. */
    Running start(String script);

    /** Starts a Java program with this JVM's class path and the given JVM arguments. */
    default Running java(List<String> jvm, Class<?> main, String... arguments) {
        return start(Jvm.command(jvm, main.getName(), List.of(arguments)));
    }

    /**
     * Runs a shell script until it ends.
     *
     * @throws AssertionError when it does not end in time, or with an exit code other than 0; includes its output
     */
    default String run(String script, Duration deadline) {
        Running running = start(script);
        int code = running.await(deadline);
        String output = running.output();
        if (code != 0) {
            throw new AssertionError("%s: exit code %d of: %s%n%s".formatted(name(), code, script, output));
        }
        return output;
    }

    /** Ends all its programs. */
    @Override
    void close();

    /** A program running in a machine. */
    interface Running {
        /** The pause between two polls of a program's output. */
        long POLL_NS = 20_000_000;

        /** Waits until it ends and returns its exit code (128 + signal when killed). */
        int await(Duration deadline);

        boolean isRunning();

        /** Its output so far: standard output and standard error. */
        String output();

        /**
         * Waits for a line with this prefix and returns it. Polls the output, because files of a machine give no
         * notification.
         *
         * @param skipped how many lines to skip from the beginning
         */
        default String awaitLine(String prefix, int skipped, Duration deadline) {
            long endNs = System.nanoTime() + deadline.toNanos();
            while (true) {
                boolean over = !isRunning() || System.nanoTime() - endNs > 0;
                String written = output();
                Optional<String> line = written.substring(0, written.lastIndexOf('\n') + 1)
                        .lines()
                        .skip(skipped)
                        .filter(one -> one.startsWith(prefix))
                        .findFirst();
                if (line.isPresent()) {
                    return line.get();
                }
                if (over) {
                    throw new AssertionError("no line \"%s\" within %s (running: %b); its output:%n%s"
                            .formatted(prefix, deadline, isRunning(), written));
                }
                LockSupport.parkNanos(POLL_NS);
            }
        }

        /** Like {@link #awaitLine(String, int, Duration)}, without skipping lines. */
        default String awaitLine(String prefix, Duration deadline) {
            return awaitLine(prefix, 0, deadline);
        }

        /** Sends a signal, by name, for example {@code KILL}; does not wait for its effect. */
        void signal(String name);

        /** Sends SIGKILL. */
        default void kill() {
            signal("KILL");
        }
    }
}
