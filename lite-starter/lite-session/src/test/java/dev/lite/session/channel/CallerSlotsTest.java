package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class CallerSlotsTest {
    private static final long LONG_NS = Waits.seconds(20).toNanos();

    @Test
    void aThreadThatHasWaitedForASlotGetsItBeforeOnesThatCome() {
        CallerSlots slots = new CallerSlots(1, slot -> false, () -> false);
        assertThat(slots.tryTake()).isZero();
        AtomicInteger got = new AtomicInteger(-1);
        Thread waiting = Thread.ofPlatform().start(() -> got.set(slots.take(System.nanoTime() + LONG_NS)));
        Waits.pass(Duration.ofMillis(100));
        slots.giveBack(0);
        assertThat(slots.tryTake()).isEqualTo(-1);
        Waits.join(waiting);
        assertThat(got).hasValue(0);
        slots.giveBack(0);
        assertThat(slots.tryTake()).isZero();
    }

    @Test
    void aThreadThatHasWaitedForASlotInVainKeepsItFromNobody() {
        CallerSlots slots = new CallerSlots(1, slot -> false, () -> false);
        assertThat(slots.tryTake()).isZero();
        assertThat(slots.take(System.nanoTime() + Duration.ofMillis(100).toNanos()))
                .isEqualTo(-1);
        slots.giveBack(0);
        assertThat(slots.tryTake()).isZero();
    }

    @Test
    void theEndOfTheChannelWakesAThreadThatHasWaitedForASlot() {
        AtomicBoolean ended = new AtomicBoolean();
        CallerSlots slots = new CallerSlots(1, slot -> false, ended::get);
        assertThat(slots.tryTake()).isZero();
        AtomicInteger got = new AtomicInteger();
        Thread waiting = Thread.ofPlatform().start(() -> got.set(slots.take(System.nanoTime() + LONG_NS)));
        Waits.pass(Duration.ofMillis(100));
        ended.set(true);
        slots.wakeAll();
        Waits.join(waiting);
        assertThat(got).hasValue(-1);
    }
}
