package dev.lite.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A ZooKeeper server in its own process, with its log in the temporary directory. Used by one thread. */
final class BenchZooKeeper implements AutoCloseable {
    private static final int END_SECONDS = 10;

    private final Path directory = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
    private final int port;
    private final Process process;
    private final Thread hook;

    BenchZooKeeper() {
        try {
            port = freePort();
            Path config = Files.write(
                    directory.resolve("zookeeper.cfg"),
                    List.of(
                            "tickTime=500",
                            "admin.enableServer=false",
                            "dataDir=" + directory.resolve("data"),
                            "clientPortAddress=127.0.0.1",
                            "clientPort=" + port));
            process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xmx512m",
                            "-XX:+UseSerialGC",
                            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                            "-cp",
                            System.getProperty("java.class.path"),
                            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                            config.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("zookeeper.log").toFile())
                    .start();
        } catch (IOException e) {
            BenchNodes.delete(directory);
            throw new UncheckedIOException("cannot start ZooKeeper", e);
        }
        hook = Thread.ofPlatform().name("zookeeper stop").unstarted(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    String connectString() {
        return "127.0.0.1:" + port;
    }

    /** The resident memory of the server in bytes. */
    long residentBytes() {
        Path status = Path.of("/proc", Long.toString(process.pid()), "status");
        try {
            return Files.readAllLines(status).stream()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + status, e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                System.err.printf("ZooKeeper, process %d, did not end%n", process.pid());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().removeShutdownHook(hook);
        BenchNodes.delete(directory);
    }
}
