package dev.lite.fabric.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A resolver that is slow, or fails. */
class HostLookupsTest {
    private static final Deadline PASSED = Deadline.in(Duration.ZERO);

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final CountDownLatch answers = new CountDownLatch(1);
    private final HostLookups lookups = new HostLookups(this::resolve);

    private InetAddress[] resolve(String host) throws UnknownHostException {
        asked.add(host);
        Waits.await(answers);
        return switch (host) {
            case "unknown" -> throw new UnknownHostException("no such host, on purpose");
            case "broken" -> throw new SecurityException("it may not be looked up, on purpose");
            default -> new InetAddress[] {InetAddress.getLoopbackAddress()};
        };
    }

    @AfterEach
    void answer() {
        answers.countDown();
    }

    private static Deadline soon() {
        return Deadline.in(Waits.seconds(10));
    }

    private CompletableFuture<InetAddress[]> finding(String host) {
        return CompletableFuture.supplyAsync(
                () -> lookups.find(host, soon()),
                task -> Thread.ofPlatform().daemon().start(task));
    }

    private void refused(String host, Deadline deadline, String words) {
        assertThatExceptionOfType(HandshakeException.class)
                .isThrownBy(() -> lookups.find(host, deadline))
                .withMessageContaining(words);
    }

    @Test
    void anAddressNeedsNoLookup() {
        assertThat(lookups.find("10.1.2.3", PASSED))
                .extracting(InetAddress::getHostAddress)
                .containsExactly("10.1.2.3");
        assertThat(lookups.find("::1", PASSED))
                .singleElement()
                .satisfies(found -> assertThat(found.isLoopbackAddress()).isTrue());
        assertThat(asked).isEmpty();
    }

    @Test
    void callersOfTheSameHostShareALookup() {
        refused("slow", PASSED, "looking up host 'slow': not done within its deadline");
        var first = finding("slow");
        var second = finding("slow");
        refused("slow", PASSED, "not done within its deadline");
        answers.countDown();
        assertThat(first.join()).containsExactly(InetAddress.getLoopbackAddress());
        assertThat(second.join()).containsExactly(InetAddress.getLoopbackAddress());
        assertThat(asked.getFirst()).isEqualTo("slow");
    }

    @Test
    void lookupsThatNoCallerWaitsForCountTowardsTheLimit() {
        for (int i = 0; i < HostLookups.UNDER_WAY_MAX; i++) {
            refused("slow" + i, PASSED, "not done within its deadline");
        }
        refused("another", soon(), "cannot look up host 'another': 256 lookups are under way, the limit");
        refused("slow0", PASSED, "not done within its deadline");
        assertThat(lookups.find("10.1.2.3", PASSED)).hasSize(1);
        answers.countDown();
        Waits.until("there is room again", () -> {
            try {
                return lookups.find("another", soon()).length == 1;
            } catch (HandshakeException full) {
                return false;
            }
        });
        assertThat(asked).doesNotHaveDuplicates();
    }

    @Test
    void aLookupThatFailsSaysWhy() {
        answers.countDown();
        refused("unknown", soon(), "there is no host 'unknown'");
        refused("broken", soon(), "it may not be looked up, on purpose");
    }

    @Test
    void aStopEndsTheWaitsAndRefusesFurtherLookups() {
        var waits = finding("slow");
        Waits.until("it is under way", () -> !asked.isEmpty());
        lookups.stop();
        assertThat(waits)
                .failsWithin(Waits.seconds(10))
                .withThrowableThat()
                .withMessageContaining("this node closed the fabric");
        refused("another", soon(), "this node closed the fabric");
        assertThat(lookups.find("10.1.2.3", PASSED)).hasSize(1);
    }
}
