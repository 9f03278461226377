package dev.lite.fabric.rdma.verbs;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An RDMA device of this host, as described by the kernel.
 *
 * @param name its name in {@code /sys/class/infiniband}
 * @param addresses the IPv4 addresses of its network interfaces, which peers connect to; a device without an address cannot be used
 */
public record Device(String name, List<InetAddress> addresses) {
    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final Path NODES = Path.of("/dev/infiniband");

    /** All devices, ordered by name. */
    public static List<Device> all() {
        return all(DEVICES, Device::addressesOf);
    }

    public static List<Device> all(Path devices, Function<String, List<InetAddress>> addressesOf) {
        var found = new ArrayList<Device>();
        for (String name : names(devices)) {
            var addresses = new ArrayList<InetAddress>();
            for (String network : networks(devices.resolve(name))) {
                addresses.addAll(addressesOf.apply(network));
            }
            found.add(new Device(name, List.copyOf(addresses)));
        }
        return found;
    }

    /** Why no device can be used, as a sentence that says what to do; empty if one can. */
    public static Optional<String> missing(List<Device> devices) {
        if (devices.isEmpty()) {
            return Optional.of(
                    "this host has no RDMA device (%s is empty): load the card's driver, or rdma_rxe for emulation"
                            .formatted(DEVICES));
        }
        if (!Files.exists(NODES.resolve("rdma_cm")) || names(NODES).stream().noneMatch(n -> n.startsWith("uverbs"))) {
            return Optional.of(
                    "%s has no rdma_cm or no uverbs device: load the modules rdma_ucm and ib_uverbs, or pass these devices to this container"
                            .formatted(NODES));
        }
        if (devices.stream().allMatch(device -> device.addresses().isEmpty())) {
            return Optional.of(
                    "no network interface of the RDMA devices %s has an IPv4 address: add one (ip address add)"
                            .formatted(devices.stream().map(Device::name).toList()));
        }
        return Optional.empty();
    }

    /**
     * Selects the address to listen at.
     *
     * @param wantedDevice the name of a device, or null for the first device with an address
     * @param wantedHost an address of the device, or null for its first address
     * @throws IllegalArgumentException if no device matches; the message lists the devices
     */
    public static InetAddress address(
            List<Device> devices, @Nullable String wantedDevice, @Nullable String wantedHost) {
        for (var device : devices) {
            if (wantedDevice != null && !wantedDevice.equals(device.name())) {
                continue;
            }
            for (var address : device.addresses()) {
                if (wantedHost == null || wantedHost.equals(address.getHostAddress())) {
                    return address;
                }
            }
        }
        throw new IllegalArgumentException("no RDMA device matches device=%s and host=%s; this host has %s"
                .formatted(
                        wantedDevice == null ? "any" : wantedDevice, wantedHost == null ? "any" : wantedHost, devices));
    }

    private static TreeSet<String> names(Path directory) {
        var names = new TreeSet<String>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            entries.forEach(entry -> names.add(entry.getFileName().toString()));
        } catch (IOException e) {
            // A missing directory has no entries.
        }
        return names;
    }

    /** The network interfaces that a device's GIDs belong to. */
    private static TreeSet<String> networks(Path device) {
        var networks = new TreeSet<String>();
        for (String port : names(device.resolve("ports"))) {
            Path types = device.resolve("ports").resolve(port).resolve("gid_attrs/ndevs");
            for (String index : names(types)) {
                try {
                    networks.add(Files.readString(types.resolve(index)).strip());
                } catch (IOException e) {
                    // This GID is not in use.
                }
            }
        }
        return networks;
    }

    private static List<InetAddress> addressesOf(String network) {
        try {
            var found = NetworkInterface.getByName(network);
            return found == null
                    ? List.of()
                    : found.inetAddresses()
                            .filter(address -> address instanceof Inet4Address)
                            .toList();
        } catch (SocketException e) {
            return List.of();
        }
    }
}
