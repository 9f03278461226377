package dev.lite.fabric.rdma;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds an RDMA device of this machine. */
final class RawDevice {
    private static final Path DEVICES = Path.of("/sys/class/infiniband");

    private RawDevice() {}

    /** The address of the first device whose network interface has an IPv4 address; empty if there is none. */
    static Optional<Inet4Address> address() throws IOException {
        if (!Files.isDirectory(DEVICES)) {
            return Optional.empty();
        }
        try (var devices = Files.list(DEVICES)) {
            for (var device : devices.sorted().toList()) {
                var address = addressOf(device.resolve("ports/1/gid_attrs/ndevs/0"));
                if (address != null) {
                    return Optional.of(address);
                }
            }
        }
        return Optional.empty();
    }

    private static @Nullable Inet4Address addressOf(Path interfaceName) throws IOException {
        if (!Files.exists(interfaceName)) {
            return null;
        }
        var network = NetworkInterface.getByName(Files.readString(interfaceName).strip());
        if (network == null) {
            return null;
        }
        for (var address : Collections.list(network.getInetAddresses())) {
            if (address instanceof Inet4Address found) {
                return found;
            }
        }
        return null;
    }
}
