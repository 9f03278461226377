package dev.lite.bench.load;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A ZooKeeper server in its own process, with its log in the temporary directory. Used by one thread. */
public final class BenchZooKeeper implements AutoCloseable {
    private final Place place = new Place(Path.of(System.getProperty("java.io.tmpdir")));
    private final int port = FreePort.find();
    private final NativeProcess process;

    /** Starts the process. */
    public BenchZooKeeper() {
        Path config;
        try {
            config = Files.write(
                    place.path().resolve("zookeeper.cfg"),
                    List.of(
                            "tickTime=500",
                            "admin.enableServer=false",
                            "maxSessionTimeout=60000",
                            "dataDir=" + place.path().resolve("data"),
                            "clientPortAddress=127.0.0.1",
                            "clientPort=" + port));
        } catch (IOException e) {
            place.close();
            throw new UncheckedIOException("cannot write ZooKeeper's configuration", e);
        }
        process = NativeProcess.start(
                "ZooKeeper",
                place.path().resolve("zookeeper.log"),
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx512m",
                        "-XX:+UseSerialGC",
                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                        config.toString()));
    }

    /** The address for clients. */
    public String connectString() {
        return "127.0.0.1:" + port;
    }

    /** The resident memory of the server in bytes. */
    public long residentBytes() {
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
        process.close();
        place.close();
    }
}
