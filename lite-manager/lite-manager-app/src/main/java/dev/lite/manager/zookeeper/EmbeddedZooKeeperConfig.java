package dev.lite.manager.zookeeper;

import java.nio.file.Path;
import java.time.Duration;

/**
 * The configuration of an {@link EmbeddedZooKeeper}.
 *
 * @param address the host name or address to listen on
 * @param port 0 to 65535; 0 for any free one
 * @param dataDirectory for its log and snapshots; created if it is missing
 * @param startTimeout how long the start may take
 */
public record EmbeddedZooKeeperConfig(String address, int port, Path dataDirectory, Duration startTimeout) {
    private static final int PORT_MAX = 65535;

    /** Validates. */
    public EmbeddedZooKeeperConfig {
        if (address.isBlank()) {
            throw new IllegalArgumentException("the address of the embedded ZooKeeper is blank");
        }
        if (port < 0 || port > PORT_MAX) {
            throw new IllegalArgumentException(
                    "the port of the embedded ZooKeeper is %d; it must be 0 to %d".formatted(port, PORT_MAX));
        }
    }
}
