package dev.lite.system;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * ZooKeeper servers, each in its own process: a single one, or an ensemble of several. They keep their ports and data when they are
 * restarted. Servers are numbered from 1. One thread.
 */
final class ZooKeepers implements AutoCloseable {
    static final int TICK_MS = 200;

    private static final int ANSWER_MS = 1000;

    private final Path directory;
    private final String host;
    private final List<String> prefix;
    private final List<Ports> ports = new ArrayList<>();
    private final List<@Nullable Process> processes = new ArrayList<>();

    private record Ports(int client, int quorum, int election) {}

    /**
     * Starts this many servers.
     *
     * @param directory for data and logs
     */
    static ZooKeepers start(Path directory, int count) {
        return start(directory, count, "127.0.0.1", List.of());
    }

    /**
     * Starts this many servers at an address.
     *
     * @param prefix a prefix for their commands, for example to run them in a network namespace
     */
    static ZooKeepers start(Path directory, int count, String host, List<String> prefix) {
        ZooKeepers servers = new ZooKeepers(directory, count, host, prefix);
        try {
            IntStream.rangeClosed(1, count).forEach(servers::launch);
            servers.awaitServing();
            return servers;
        } catch (RuntimeException | Error e) {
            servers.close();
            throw e;
        }
    }

    private ZooKeepers(Path directory, int count, String host, List<String> prefix) {
        this.directory = directory;
        this.host = host;
        this.prefix = prefix;
        List<ServerSocket> taken = new ArrayList<>();
        try {
            for (int server = 0; server < count; server++) {
                ports.add(new Ports(freePort(taken), freePort(taken), freePort(taken)));
                processes.add(null);
            }
            for (ServerSocket socket : taken) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Finds free ports. All are kept bound until all are found, so that none is found twice. */
    private static int freePort(List<ServerSocket> taken) throws IOException {
        ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        taken.add(socket);
        return socket.getLocalPort();
    }

    int count() {
        return ports.size();
    }

    String connectString() {
        return String.join(
                ",", ports.stream().map(one -> host + ":" + one.client()).toList());
    }

    /** The directory of a server's log and snapshots. */
    Path dataDirectory(int server) {
        return directory.resolve("zookeeper-" + server);
    }

    /** Starts a server without waiting until it serves. */
    void launch(int server) {
        try {
            Path data = Files.createDirectories(dataDirectory(server));
            Files.writeString(data.resolve("myid"), Integer.toString(server));
            Path config = Files.writeString(directory.resolve("zookeeper-" + server + ".cfg"), config(server, data));
            List<String> command = new ArrayList<>(prefix);
            command.addAll(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Xmx128m",
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    // In KiB, because by default its log takes 64 MiB at once, which is too much for a small disk.
                    "-Dzookeeper.preAllocSize=256",
                    "-cp",
                    System.getProperty("java.class.path"),
                    ZooKeeperProcess.class.getName(),
                    Long.toString(ProcessHandle.current().pid()),
                    config.toString()));
            Path log = directory.resolve("zookeeper-" + server + ".log");
            processes.set(
                    server - 1,
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                            .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String config(int server, Path data) {
        List<String> lines = new ArrayList<>(List.of(
                "tickTime=" + TICK_MS,
                "initLimit=50",
                "syncLimit=10",
                "maxSessionTimeout=60000",
                "maxClientCnxns=0",
                "admin.enableServer=false",
                "4lw.commands.whitelist=srvr",
                // No test simulates a power failure, so nothing needs to be flushed to the disk.
                "forceSync=no",
                "dataDir=" + data,
                "clientPortAddress=" + host,
                "clientPort=" + ports.get(server - 1).client()));
        for (int other = 1; count() > 1 && other <= count(); other++) {
            Ports its = ports.get(other - 1);
            lines.add("server.%d=%s:%d:%d".formatted(other, host, its.quorum(), its.election()));
        }
        return String.join("\n", lines) + "\n";
    }

    /** Waits until a majority serves. */
    void awaitServing() {
        Waits.until(
                "a majority of the ZooKeeper servers serves; their logs are in " + directory,
                Waits.seconds(60),
                () -> IntStream.rangeClosed(1, count()).filter(this::isServing).count() > count() / 2);
    }

    private boolean isServing(int server) {
        return ask(server).contains("Mode: ");
    }

    /** The leader of the ensemble; empty if there is none, or only one server. */
    OptionalInt leader() {
        return IntStream.rangeClosed(1, count())
                .filter(server -> ask(server).contains("Mode: leader"))
                .findFirst();
    }

    private String ask(int server) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, ports.get(server - 1).client()), ANSWER_MS);
            socket.setSoTimeout(ANSWER_MS);
            socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            return "";
        }
    }

    boolean isAlive(int server) {
        Process process = processes.get(server - 1);
        return process != null && process.isAlive();
    }

    /** Sends SIGKILL, and waits for the end. */
    void kill(int server) {
        Process process = processes.get(server - 1);
        if (process != null) {
            process.destroyForcibly();
            awaitEnd(process);
        }
    }

    /** Sends a signal, {@code STOP} or {@code CONT}, to all servers. */
    void signal(String signal) {
        processes.forEach(process -> {
            if (process != null && process.isAlive()) {
                Signals.send(process.pid(), signal);
            }
        });
    }

    void killAll() {
        IntStream.rangeClosed(1, count()).forEach(this::kill);
    }

    /** Starts the servers that do not run, and waits until they serve. */
    void startAll() {
        IntStream.rangeClosed(1, count()).filter(server -> !isAlive(server)).forEach(this::launch);
        awaitServing();
    }

    private static void awaitEnd(Process process) {
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                throw new AssertionError("process %d outlives SIGKILL".formatted(process.pid()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    @Override
    public void close() {
        killAll();
    }
}
