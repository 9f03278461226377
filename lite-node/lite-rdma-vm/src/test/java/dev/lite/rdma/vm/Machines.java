package dev.lite.rdma.vm;

import static org.junit.jupiter.api.Assumptions.abort;

import dev.lite.rdma.vm.VmImage.UnavailableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Virtual machines or, with {@code -Drdma.here}, this one. One thread. */
final class Machines {
    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final String MEMORY = "3G";

    private static @Nullable VmImage image;

    private Machines() {}

    static boolean here() {
        return !System.getProperty("rdma.here", "false").equals("false");
    }

    /** One machine that is up. The test is skipped, or fails, when there can be none. */
    static Machine one(String name) {
        return here() ? local(name) : vm(name);
    }

    /** One virtual machine that is up, also where the rest runs in this one. */
    static VirtualMachine vm(String name) {
        VirtualMachine machine = VirtualMachine.boot(image(), name, 1, "hubport,id=n0,hubid=0", MEMORY);
        return ready(machine);
    }

    /** Two that reach each other; two directories of this one with {@code -Drdma.here}. */
    static Pair two(String name) {
        return here()
                ? new Pair(local(name + "-a"), local(name + "-b"))
                : VmPair.boot(image(), name, MEMORY).asPair();
    }

    /** Closes both, whatever the first one says. */
    record Pair(Machine a, Machine b) implements AutoCloseable {
        @Override
        public void close() {
            try (a) {
                b.close();
            }
        }
    }

    static VirtualMachine ready(VirtualMachine machine) {
        try {
            return machine.awaitReady();
        } catch (AssertionError e) {
            machine.crash();
            throw e;
        }
    }

    static synchronized VmImage image() {
        try {
            if (image == null) {
                image = VmImage.make();
            }
            return image;
        } catch (UnavailableException e) {
            throw unavailable("no virtual machine here: " + e.getMessage());
        }
    }

    private static Machine local(String name) {
        Optional<String> address = deviceAddress();
        if (address.isEmpty()) {
            throw unavailable(
                    "-Drdma.here: no RDMA device in %s whose network interface has an IPv4 address".formatted(DEVICES));
        }
        return new LocalMachine(name, address.get());
    }

    private static Optional<String> deviceAddress() {
        try (var netdevs = Files.walk(DEVICES, 5, FileVisitOption.FOLLOW_LINKS)) {
            List<Path> names =
                    netdevs.filter(path -> path.endsWith("gid_attrs/ndevs/0")).toList();
            for (Path name : names) {
                NetworkInterface netdev =
                        NetworkInterface.getByName(Files.readString(name).strip());
                if (netdev != null) {
                    Optional<String> address = netdev.inetAddresses()
                            .filter(Inet4Address.class::isInstance)
                            .map(one -> one.getHostAddress())
                            .findFirst();
                    if (address.isPresent()) {
                        return address;
                    }
                }
            }
            return Optional.empty();
        } catch (IOException | UncheckedIOException e) {
            return Optional.empty();
        }
    }

    /** What to throw; or skips the test, where that is allowed. */
    private static AssertionError unavailable(String reason) {
        if (Boolean.getBoolean("lite.rdma.vm.optional")) {
            System.out.println("rdma-vm: skipped: " + reason);
            abort(reason);
        }
        return new AssertionError(reason + " (-Dlite.rdma.vm.optional=true skips these tests)");
    }
}
