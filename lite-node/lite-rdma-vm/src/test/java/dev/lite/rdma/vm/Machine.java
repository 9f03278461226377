package dev.lite.rdma.vm;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Where programs run: a virtual machine, or this one. Any thread. */
interface Machine extends AutoCloseable {
    /** Its name, for messages. */
    String name();

    /** The IPv4 address of its device. */
    String address();

    /** A directory that it and this JVM see; the programs' working directory. Its path in the machine is {@link #inside}. */
    Path directory();

    /** What a file in {@link #directory} is called in the machine. */
    String inside(String file);

    /** What a directory is called in the machine whose files are in memory and end with it: for arenas and sockets. */
    String memory();

    /** Starts a shell script; {@code exec} in it makes the program the process that {@link Running#kill} kills. */
    Running start(String script);

    /** Starts a Java program with this JVM's class path, and these arguments of the JVM. */
    default Running java(List<String> jvm, Class<?> main, String... arguments) {
        return start(Jvm.command(jvm, main.getName(), List.of(arguments)));
    }

    /**
     * Runs a shell script to its end.
     *
     * @throws AssertionError when it does not end in time, or with another exit code than 0; with what it said
     */
    default String run(String script, Duration deadline) {
        Running running = start(script);
        int code = running.await(deadline);
        String said = running.output();
        if (code != 0) {
            throw new AssertionError("%s: exit code %d of: %s%n%s".formatted(name(), code, script, said));
        }
        return said;
    }

    /** Ends all that runs in it. */
    @Override
    void close();

    /** A program that runs in a machine. */
    interface Running {
        /** Between two looks at what a program has written. */
        long LOOK_NS = 20_000_000;

        /** Waits for its end and returns its exit code (128 + signal when killed). */
        int await(Duration deadline);

        boolean isRunning();

        /** What it has written so far, standard output and error together. */
        String output();

        /**
         * Waits until it has written a line that begins so, and returns the line. It looks again and again at what was written, since
         * a machine's files do not tell.
         *
         * @param skipped how many lines from the beginning are not looked at
         */
        default String awaitLine(String prefix, int skipped, Duration deadline) {
            long endNs = System.nanoTime() + deadline.toNanos();
            while (true) {
                boolean over = !isRunning() || System.nanoTime() - endNs > 0;
                String said = output();
                Optional<String> line = said.substring(0, said.lastIndexOf('\n') + 1)
                        .lines()
                        .skip(skipped)
                        .filter(one -> one.startsWith(prefix))
                        .findFirst();
                if (line.isPresent()) {
                    return line.get();
                }
                if (over) {
                    throw new AssertionError("no line \"%s\" within %s (running: %b); it said:%n%s"
                            .formatted(prefix, deadline, isRunning(), said));
                }
                LockSupport.parkNanos(LOOK_NS);
            }
        }

        /** {@link #awaitLine(String, int, Duration)} of all lines. */
        default String awaitLine(String prefix, Duration deadline) {
            return awaitLine(prefix, 0, deadline);
        }

        /** Sends a signal, {@code KILL} or another one by its name; does not wait until it is heard. */
        void signal(String name);

        /** Sends SIGKILL. */
        default void kill() {
            signal("KILL");
        }
    }
}
