package dev.lite.fabric.driver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.driver.Strangers.Entered;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class StrangersTest {
    private static final InetAddress STRANGER = InetAddress.ofLiteral("192.0.2.1");
    private static final InetAddress OTHER = InetAddress.ofLiteral("192.0.2.2");
    private static final InetAddress NODE = InetAddress.ofLiteral("192.0.2.3");

    private final Strangers strangers = new Strangers(8);
    private final List<String> ended = new ArrayList<>();

    private Entered enter(InetAddress from, String name) {
        Entered entered = Objects.requireNonNull(strangers.enter(from, () -> ended.add(name)));
        if (entered.interruptOther() != null) {
            entered.interruptOther().run();
        }
        return entered;
    }

    @Test
    void anAddressTakesHalfOfThePlacesAndThenEndsItsOwnOldest() {
        for (int i = 0; i < 6; i++) {
            enter(STRANGER, "s" + i);
        }
        assertThat(ended).containsExactly("s0", "s1");
        enter(OTHER, "o0");
        enter(OTHER, "o1");
        assertThat(ended).hasSize(2);
    }

    @Test
    void aNewAddressAlwaysFindsAPlace() {
        for (int address = 1; address <= 100; address++) {
            enter(InetAddress.ofLiteral("198.51.100." + address), "s" + address);
        }
        enter(NODE, "node");
        assertThat(ended).doesNotContain("node").hasSize(93);
    }

    @Test
    void addressesThatProvedTheSecretBeforeHavePlacesOfTheirOwn() {
        enter(NODE, "first").place().proved();
        enter(NODE, "second");
        for (int address = 1; address <= 100; address++) {
            enter(InetAddress.ofLiteral("198.51.100." + address), "s" + address);
        }
        assertThat(ended).doesNotContain("second");
    }

    @Test
    void oneNetworkOfIpv6CountsAsOneAddress() {
        for (int i = 0; i < 8; i++) {
            enter(InetAddress.ofLiteral("2001:db8::" + (i + 1)), "s" + i);
        }
        assertThat(ended).containsExactly("s0", "s1", "s2", "s3");
    }

    @Test
    void aPlaceIsGivenBackOnce() {
        for (int i = 0; i < 100; i++) {
            Entered entered = enter(STRANGER, "s" + i);
            entered.place().leave();
            entered.place().leave();
        }
        assertThat(ended).isEmpty();
    }

    @Test
    void withoutAnAddressNoLaneEndsForAnotherOne() {
        for (int i = 0; i < 8; i++) {
            assertThat(strangers.enter(null, () -> ended.add("never"))).isNotNull();
        }
        assertThat(strangers.enter(null, () -> ended.add("never"))).isNull();
        assertThat(ended).isEmpty();
    }
}
