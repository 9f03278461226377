package dev.lite.fabric.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ArrivalsTest {
    private static final long LONG_NS = Waits.seconds(60).toNanos();

    private final List<String> closed = new ArrayList<>();

    enum End {
        DROPPED_BEFORE,
        DROPPED_AFTER,
        THE_OLDEST_OF_TOO_MANY
    }

    private static void arriveAndEnd(Arrivals<String> arrivals, End end) {
        if (end == End.DROPPED_BEFORE) {
            arrivals.drop(1);
        }
        arrivals.keep(1, "one");
        if (end == End.DROPPED_AFTER) {
            arrivals.drop(1);
        } else if (end == End.THE_OLDEST_OF_TOO_MANY) {
            for (int i = 0; i < Arrivals.KEPT_MAX; i++) {
                arrivals.keep(100 + i, "more");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void whoWaitsForSomethingThatIsClosedAboutWhenItArrivesWaitsNoLonger(End end) {
        AtomicReference<Runnable> underLock = new AtomicReference<>(() -> {});
        Arrivals<String> arrivals = new Arrivals<>(gone -> {
            closed.add(gone);
            underLock.getAndSet(() -> {}).run();
        });
        AtomicReference<@Nullable String> taken = new AtomicReference<>("not yet");
        Thread waiting = Thread.ofPlatform().start(() -> taken.set(arrivals.take(1, LONG_NS)));
        Waits.until("the thread waits", () -> waiting.getState() == Thread.State.TIMED_WAITING);
        arrivals.keep(2, "two");
        underLock.set(() -> arriveAndEnd(arrivals, end)); // the thread cannot look meanwhile
        arrivals.drop(2);
        Waits.join(waiting);
        assertThat(taken.get()).isNull();
        assertThat(closed).containsExactly("two", "one");
        arrivals.keep(1, "again");
        assertThat(closed).endsWith("again");
    }

    @Test
    void whatArrivesAndCannotBeKeptIsClosed() {
        Arrivals<String> arrivals = new Arrivals<>(gone -> {
            closed.add(gone);
            if (gone.equals("one")) {
                throw new OutOfMemoryError("no memory left, on purpose");
            }
        });
        arrivals.keep(1, "one");
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> arrivals.keep(1, "another"));
        assertThat(closed).containsExactly("one", "another");
        assertThat(arrivals.take(1, 0)).isNull();
    }
}
