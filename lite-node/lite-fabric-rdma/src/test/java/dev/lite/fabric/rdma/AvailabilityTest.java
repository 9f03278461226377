package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.lite.fabric.rdma.verbs.Device;
import dev.lite.fabric.rdma.verbs.MemoryLock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The messages for a missing device or too little lockable memory, and the choice of the address. */
class AvailabilityTest {
    private static final List<String> UNPRIVILEGED = List.of("Name:\tjava", "CapEff:\t0000000000000000");
    private static final List<String> MAY_LOCK = List.of("CapEff:\t0000000000004000");

    private static List<String> limit(String soft) {
        return List.of(
                "Limit                     Soft Limit           Hard Limit           Units",
                "Max locked memory         %s              %s              bytes".formatted(soft, soft));
    }

    @Test
    void aTooLowMemoryLockLimitIsReportedWithBothNumbersAndARemedy() {
        assertThat(MemoryLock.missing(1 << 30, limit("65536"), UNPRIVILEGED))
                .get()
                .asString()
                .contains("65536", Integer.toString(1 << 30), "LimitMEMLOCK", "CAP_IPC_LOCK");
    }

    @Test
    void aSufficientMemoryLockLimitOrThePrivilegeIsAccepted() {
        assertThat(MemoryLock.missing(1 << 30, limit("unlimited"), UNPRIVILEGED))
                .isEmpty();
        assertThat(MemoryLock.missing(65_536, limit("65536"), UNPRIVILEGED)).isEmpty();
        assertThat(MemoryLock.missing(1 << 30, limit("65536"), MAY_LOCK)).isEmpty();
    }

    /** A process whose limit the kernel sets, and without the capability, also if this one is root. */
    @Test
    void aProcessWithALowLimitFindsIt() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "ulimit -l 64 && exec \"$@\"", "sh"));
        if (MemoryLock.missing(Long.MAX_VALUE, limit("65536"), Files.readAllLines(Path.of("/proc/self/status")))
                .isEmpty()) {
            command.addAll(List.of("setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock"));
        }
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                LimitProgram.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (var output = process.getInputStream()) {
            String text = new String(output.readAllBytes(), StandardCharsets.UTF_8);
            assertThat(text)
                    .startsWith("this process may lock 65536 bytes of memory, but must register ")
                    .contains("ulimit -l", "CAP_IPC_LOCK");
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    /** Prints why this process cannot use RDMA. */
    static final class LimitProgram {
        private LimitProgram() {}

        public static void main(String[] arguments) {
            System.out.println(MemoryLock.tooLow().orElse("it can"));
        }
    }

    @Test
    void withoutADeviceTheMessageNamesTheDriverToLoad() {
        assertThat(Device.missing(List.of())).get().asString().contains("no RDMA device", "rdma_rxe");
    }

    @Test
    void devicesAreFoundWithTheAddressesOfTheirNetworkInterfaces(@TempDir Path root) throws IOException {
        var networks = Files.createDirectories(root.resolve("rxe0/ports/1/gid_attrs/ndevs"));
        Files.writeString(networks.resolve("0"), "eth7\n");
        Files.writeString(networks.resolve("1"), "eth7\n");
        Files.createDirectories(root.resolve("mlx5_0/ports/1"));
        var address = InetAddress.getByName("10.9.0.1");

        var devices = Device.all(root, network -> network.equals("eth7") ? List.of(address) : List.of());

        assertThat(devices).containsExactly(new Device("mlx5_0", List.of()), new Device("rxe0", List.of(address)));
    }

    @Test
    void theFirstMatchingAddressIsUsedAndOtherwiseTheErrorListsTheAddresses() throws UnknownHostException {
        var first = InetAddress.getByName("10.9.0.1");
        var second = InetAddress.getByName("10.9.1.1");
        var devices =
                List.of(new Device("a", List.of()), new Device("b", List.of(first)), new Device("c", List.of(second)));

        assertThat(Device.address(devices, null, null)).isEqualTo(first);
        assertThat(Device.address(devices, "c", null)).isEqualTo(second);
        assertThat(Device.address(devices, null, "10.9.1.1")).isEqualTo(second);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Device.address(devices, "a", null))
                .withMessageContaining("device=a")
                .withMessageContaining("10.9.0.1");
    }
}
