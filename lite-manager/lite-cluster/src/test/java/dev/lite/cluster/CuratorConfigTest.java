package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CuratorConfigTest {
    @ParameterizedTest
    @ValueSource(strings = {"", " ", ",", "localhost:abc", "localhost:70000", "localhost:2181/a//b", "[::1:2181"})
    void aConnectStringThatZooKeeperCannotReadIsRefused(String wrong) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CuratorConfig.of(wrong, "lite"))
                .withMessageStartingWith(
                        "the ZooKeeper connect string is \"%s\"; it must be host:port[,host:port...]".formatted(wrong));
    }

    @ParameterizedTest
    @ValueSource(strings = {"localhost", "zk-1:2181,zk-2:2181", "10.0.0.1:2181/lite/a", "[::1]:2181"})
    void otherConnectStringsAreAccepted(String right) {
        assertThat(CuratorConfig.of(right, "lite").connectString()).isEqualTo(right);
    }
}
