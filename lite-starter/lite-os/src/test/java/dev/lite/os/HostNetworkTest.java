package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HostNetworkTest {
    @Test
    void allAddressesOfAnIpv6NetworkAreOne() {
        String network = HostNetwork.of("2001:db8:0:1::1");
        assertThat(HostNetwork.of("2001:db8:0:1:ffff:ffff:ffff:ffff")).isEqualTo(network);
        assertThat(HostNetwork.of("2001:db8:0:1:0:0:0:2%17")).isEqualTo(network);
        assertThat(HostNetwork.of("2001:db8:0:2::1")).isNotEqualTo(network);
    }

    @Test
    void eachIpv4AddressIsItsOwnAlsoWhenMappedIntoIpv6() {
        assertThat(HostNetwork.of("192.0.2.1")).isNotEqualTo(HostNetwork.of("192.0.2.2"));
        assertThat(HostNetwork.of("::ffff:192.0.2.1")).isEqualTo(HostNetwork.of("192.0.2.1"));
        assertThat(HostNetwork.of("::ffff:192.0.2.1")).isNotEqualTo(HostNetwork.of("::ffff:192.0.2.2"));
    }

    @Test
    void aTextThatIsNoAddressCountsByItself() {
        assertThat(HostNetwork.of("unknown")).isEqualTo("unknown");
    }
}
