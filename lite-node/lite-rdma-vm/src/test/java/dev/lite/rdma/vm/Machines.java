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

/** Creates virtual machines or, with {@code -Drdma.here}, uses this one. Used by one thread. */
final class Machines {
    /**
     * An emulated machine takes a whole processor. The tests with one machine, or with two that take turns, share two of them, so that
     * two run at a time: with more, the machines become so slow that their tests' deadlines pass.
     */
    static final String FIRST_PROCESSOR = "first processor";

    /** See {@link #FIRST_PROCESSOR}. */
    static final String SECOND_PROCESSOR = "second processor";

    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final String MEMORY = "3G";

    private static @Nullable VmImage image;

    private Machines() {}

    static boolean here() {
        return !System.getProperty("rdma.here", "false").equals("false");
    }

    /** Returns a running machine. Skips or fails the test when none is possible. */
    static Machine one(String name) {
        return here() ? local(name) : vm(name);
    }

    /** Returns a running virtual machine, also with {@code -Drdma.here}. */
    static VirtualMachine vm(String name) {
        VirtualMachine machine = VirtualMachine.boot(image(), name, 1, "hubport,id=n0,hubid=0", MEMORY);
        return ready(machine);
    }

    /** Returns two connected machines; with {@code -Drdma.here}, two directories of this machine. */
    static Pair two(String name) {
        return here()
                ? new Pair(local(name + "-a"), local(name + "-b"))
                : VmPair.boot(image(), name, MEMORY).asLastingPair();
    }

    /** Closes both, even if closing the first one fails. */
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
                GuestClasses unused = GuestClasses.get(); // before a machine waits for it
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

    /** Returns the error to throw, or skips the test if that is allowed. */
    private static AssertionError unavailable(String reason) {
        if (Boolean.getBoolean("lite.rdma.vm.optional")) {
            System.out.println("rdma-vm: skipped: " + reason);
            abort(reason);
        }
        return new AssertionError(reason + " (-Dlite.rdma.vm.optional=true skips these tests)");
    }
}
