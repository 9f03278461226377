package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.lite.fabric.FabricException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The fabrics that a node offers. */
class FabricSelectionTest {
    private static Optional<String> everythingWorks(String name) {
        return Optional.empty();
    }

    private static Optional<String> noDevice(String name) {
        return name.equals("rdma") ? Optional.of("this host has no RDMA device") : Optional.empty();
    }

    private static FabricSelection choose(
            @Nullable String wanted, @Nullable String required, Function<String, Optional<String>> unusable) {
        return FabricSelection.of(wanted, required, List.of("shm"), unusable);
    }

    @Test
    void byDefaultAllConfiguredFabricsAreOfferedWithoutACheck() {
        assertThat(FabricSelection.of(null, null, List.of("tcp", "shm"), FabricSelectionTest::noDevice))
                .isEqualTo(new FabricSelection(List.of("tcp", "shm"), Map.of()));
    }

    @Test
    void autoPrefersSharedMemoryThenRdmaThenTcpIfAvailable() {
        assertThat(choose("auto", null, FabricSelectionTest::everythingWorks).names())
                .containsExactly("shm", "rdma", "tcp");
        FabricSelection without = choose("auto", null, FabricSelectionTest::noDevice);
        assertThat(without.names()).containsExactly("shm", "tcp");
        assertThat(without.describe()).isEqualTo("shm, tcp; not rdma: this host has no RDMA device");
    }

    @Test
    void aNamedFabricIsTheOnlyOneOffered() {
        assertThat(choose("tcp", null, FabricSelectionTest::everythingWorks).names())
                .containsExactly("tcp");
    }

    @Test
    void anUnavailableRequiredFabricPreventsTheStartWithTheReason() {
        assertThatExceptionOfType(FabricException.class)
                .isThrownBy(() -> choose("auto", "rdma", FabricSelectionTest::noDevice))
                .withMessage("the fabric rdma is required, and it cannot be used: this host has no RDMA device");
        assertThatExceptionOfType(FabricException.class)
                .isThrownBy(() -> choose("tcp", "rdma", FabricSelectionTest::everythingWorks))
                .withMessageContaining("it is not among [tcp]");
    }

    @Test
    void aRequiredFabricIsNeverReplacedByALessPreferredOne() {
        FabricSelection chosen = choose("auto", "rdma", FabricSelectionTest::everythingWorks);

        assertThat(chosen.names()).containsExactly("shm", "rdma");
        assertThat(chosen.describe()).isEqualTo("shm, rdma; not tcp: rdma is required");
    }

    @Test
    void anUnknownFabricIsRefusedWithTheKnownOnes() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> choose("carrier-pigeon", null, FabricSelectionTest::everythingWorks))
                .withMessageContaining("carrier-pigeon")
                .withMessageContaining("[shm, rdma, tcp]");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> choose("auto", "carrier-pigeon", FabricSelectionTest::everythingWorks))
                .withMessageContaining("required");
    }
}
