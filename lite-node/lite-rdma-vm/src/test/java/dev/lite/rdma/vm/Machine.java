package dev.lite.rdma.vm;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

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

    /** Starts a shell script; {@code exec} in it makes the program the process that {@link Running#kill} kills. */
    Running start(String script);

    /** Starts a Java program with this JVM's class path, and these arguments of the JVM. */
    default Running java(List<String> jvm, Class<?> main, String... arguments) {
        return start(Jvm.command(directory(), jvm, main, List.of(arguments)));
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
        /** Waits for its end and returns its exit code (128 + signal when killed). */
        int await(Duration deadline);

        boolean isRunning();

        /** What it has written so far, standard output and error together. */
        String output();

        /** Waits until it has written a line that begins so, and returns the line. */
        String awaitLine(String prefix, Duration deadline);

        /** Sends SIGKILL; does not wait. */
        void kill();
    }
}
