package dev.lite.local;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Simulates a manager, a node or an application: it accepts their arguments and writes their ready file. */
public final class FakeProcess {
    private static final String ZOOKEEPER_PORT = "lite.manager.zookeeper.port";
    /** A garbage collector closes others. */
    private static final List<ServerSocket> SERVERS = new ArrayList<>();

    private FakeProcess() {}

    /** Runs until it receives a signal, for at most a minute. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Map<String, String> properties = new HashMap<>();
        for (String argument : arguments) {
            String[] pair = argument.substring(2).split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        String name = properties.getOrDefault("lite.node.name", "manager");
        String mode = properties.getOrDefault("fake." + name, "");
        System.out.println(name + " starts in mode " + mode);
        switch (mode) {
            case "dies" -> {
                System.err.println("the arena is too big: 1 TiB");
                System.exit(3);
            }
            case "kills-itself" -> {
                new ProcessBuilder(
                                "kill",
                                "-9",
                                Long.toString(ProcessHandle.current().pid()))
                        .start()
                        .waitFor();
                await(60);
            }
            case "crashes" -> {
                // The JVM takes a signal that it did not cause itself for a crash, too.
                new ProcessBuilder(
                                "kill",
                                "-SEGV",
                                Long.toString(ProcessHandle.current().pid()))
                        .start()
                        .waitFor();
                await(60);
            }
            case "after-node-1" -> {
                listen(properties, ZOOKEEPER_PORT);
                Path node = Path.of(properties.get("lite.ready-file")).resolveSibling("node-1.properties");
                CountDownLatch never = new CountDownLatch(1);
                while (!Files.exists(node) && !never.await(10, TimeUnit.MILLISECONDS)) {
                    // The launcher ends this process if node-1 does not start.
                }
            }
            case "dies-with-zookeeper" -> {
                // The first connection starts the nodes.
                listen(properties, ZOOKEEPER_PORT).accept();
                System.exit(3);
            }
            case "listens" -> {
                listen(properties, "server.port");
                if (properties.containsKey(ZOOKEEPER_PORT)) {
                    listen(properties, ZOOKEEPER_PORT);
                }
            }
            case "loses-its-port-once" -> loseOnce("server.port", name, properties);
            case "loses-zookeepers-port-once" -> loseOnce(ZOOKEEPER_PORT, name, properties);
            case "slow" -> printFor(name, Long.parseLong(properties.get("fake.milliseconds")));
            case "stubborn" ->
                Runtime.getRuntime().addShutdownHook(new Thread(() -> await(TimeUnit.MINUTES.toSeconds(1))));
            default -> {}
        }
        String arenas = properties.get("lite.node.arena.directory");
        if (arenas != null) {
            Files.writeString(Path.of(arenas, properties.get("lite.cluster.name"), name), "arena");
        }
        String readyFile = properties.get("lite.ready-file");
        if (readyFile != null && !mode.equals("never-ready")) {
            writeReadyFile(Path.of(readyFile), properties);
        }
        if (properties.containsKey("ends")) {
            System.out.println("ends with ä");
            System.exit(Integer.parseInt(properties.get("ends")));
        }
        await(60);
    }

    /** Accepts connections at a port until this process ends. */
    private static ServerSocket listen(Map<String, String> properties, String option) throws IOException {
        int port = Integer.parseInt(properties.get(option));
        ServerSocket server = new ServerSocket(port, 50, InetAddress.getLoopbackAddress());
        SERVERS.add(server);
        return server;
    }

    /** Like two starts that choose the same port at the same time. */
    private static void loseOnce(String option, String name, Map<String, String> properties)
            throws IOException, InterruptedException {
        Path lost = Path.of(properties.get("lite.ready-file")).resolveSibling("port-of-" + name);
        if (!Files.exists(lost)) {
            int port = Integer.parseInt(properties.get(option));
            awaitServer(port);
            Files.writeString(lost, Integer.toString(port));
            System.err.println("Port " + port + " was already in use.");
            System.exit(1);
        }
    }

    private static void awaitServer(int port) throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        while (!never.await(10, TimeUnit.MILLISECONDS)) {
            try (Socket server = new Socket(InetAddress.getLoopbackAddress(), port)) {
                System.out.println("port " + server.getPort() + " is taken");
                return;
            } catch (IOException e) {
                // not yet
            }
        }
    }

    /** A start that is slow, but makes progress. */
    private static void printFor(String name, long milliseconds) throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        for (long left = milliseconds; left > 0; left -= 100) {
            System.out.println(name + " is not ready for " + left + " ms");
            if (never.await(100, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("the latch is never counted down");
            }
        }
    }

    private static void writeReadyFile(Path readyFile, Map<String, String> properties) throws IOException {
        String port = properties.getOrDefault("lite.manager.zookeeper.port", "0");
        Path unfinished = readyFile.resolveSibling(readyFile.getFileName() + ".new");
        Files.writeString(unfinished, """
                pid=%d
                health=http://127.0.0.1:1/actuator/health
                zookeeper=127.0.0.1:%s
                socket=%s/node.sock
                """.formatted(
                        ProcessHandle.current().pid(),
                        port.equals("0") ? "21810" : port,
                        properties.get("lite.node.run-directory")));
        Files.move(unfinished, readyFile, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void await(long seconds) {
        try {
            if (new CountDownLatch(1).await(seconds, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the latch is never counted down");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
