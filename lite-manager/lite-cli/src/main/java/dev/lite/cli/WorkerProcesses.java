package dev.lite.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The workers that {@code lite mr run} starts: processes of this command, which end with it. One thread. */
final class WorkerProcesses implements AutoCloseable {
    private static final long END_SECONDS = 10;
    private static final int MIB_SHIFT = 20;

    private final Path jar;
    private final String group;
    private final int threads;
    private final long heapBytes;
    private final List<Process> processes = new ArrayList<>();

    /** Starts nothing yet. */
    WorkerProcesses(Path jar, String group, int threads, long heapBytes) {
        this.jar = jar;
        this.group = group;
        this.threads = threads;
        this.heapBytes = heapBytes;
    }

    /**
     * Starts workers, attached to the nodes in turn.
     *
     * @throws IOException if a process cannot be started; those that were are ended by {@link #close}
     */
    void start(SessionOptions session, int count) throws IOException {
        List<Path> sockets = session.sockets();
        for (int i = 0; i < count; i++) {
            List<String> command = new ArrayList<>(java());
            command.addAll(List.of("mr", "worker", jar.toString(), "--group", group));
            command.addAll(List.of("--threads", Integer.toString(threads)));
            command.addAll(List.of("--socket", sockets.get(i % sockets.size()).toString()));
            command.addAll(List.of(
                    "--until-end-of", Long.toString(ProcessHandle.current().pid())));
            session.tokenFile().ifPresent(file -> command.addAll(List.of("--token-file", file.toString())));
            processes.add(new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        }
    }

    /** This command in a process of its own. Unlike this one, it computes, so it gets both compilers and a heap. */
    List<String> java() {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-Xmx" + Math.max(1, heapBytes >> MIB_SHIFT) + "m")); // a format could have other digits
        String path = System.getProperty("java.class.path");
        boolean isExecutableJar = path.endsWith(".jar") && !path.contains(":");
        command.addAll(isExecutableJar ? List.of("-jar", path) : List.of("-cp", path, LiteMain.class.getName()));
        return command;
    }

    @Override
    public void close() throws IOException {
        processes.forEach(Process::destroy);
        for (Process process : processes) {
            try {
                if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                process.destroyForcibly();
            }
        }
    }
}
