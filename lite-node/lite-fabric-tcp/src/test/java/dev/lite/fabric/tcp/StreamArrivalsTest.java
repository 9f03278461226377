package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.driver.Arrivals;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StreamArrivalsTest {
    private static final long LONG_NS = Waits.seconds(60).toNanos();

    private final List<String> closed = new ArrayList<>();

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whoWaitsForSomethingThatIsDroppedAboutWhenItArrivesWaitsNoLonger(boolean dropsFirst) {
        AtomicReference<Runnable> underLock = new AtomicReference<>(() -> {});
        Arrivals<String> arrivals = new Arrivals<>(gone -> {
            closed.add(gone);
            underLock.getAndSet(() -> {}).run();
        });
        AtomicReference<@Nullable String> taken = new AtomicReference<>("not yet");
        Thread waiting = Thread.ofPlatform().start(() -> taken.set(arrivals.take(1, LONG_NS)));
        Waits.until("the thread waits", () -> waiting.getState() == Thread.State.TIMED_WAITING);
        underLock.set(
                () -> { // the thread cannot look between these two
                    if (dropsFirst) {
                        arrivals.drop(1);
                        arrivals.keep(1, "one");
                    } else {
                        arrivals.keep(1, "one");
                        arrivals.drop(1);
                    }
                });
        arrivals.keep(2, "two");
        arrivals.drop(2);
        Waits.join(waiting);
        assertThat(taken.get()).isNull();
        assertThat(closed).containsExactly("two", "one");
        arrivals.keep(1, "again");
        assertThat(closed).endsWith("again");
    }
}
