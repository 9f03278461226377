package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LastResortTest {
    private final List<Integer> halted = new ArrayList<>();
    private final LastResort handler = new LastResort(halted::add);

    private static Thread named(String name) {
        return Thread.ofPlatform().name(name).unstarted(() -> {});
    }

    @Test
    void aNodeWithoutMemoryEndsOnceWhateverThreadNoticesIt() {
        handler.uncaughtException(Thread.ofVirtual().unstarted(() -> {}), new OutOfMemoryError("Java heap space"));
        handler.uncaughtException(named("http-1"), new OutOfMemoryError("Java heap space"));
        assertThat(halted).containsExactly(LastResort.STATUS);
    }

    @Test
    void aTruncatedArenaEndsTheNode() {
        handler.uncaughtException(
                named("http-1"), new InternalError("a fault occurred in an unsafe memory access operation"));
        assertThat(halted).containsExactly(LastResort.STATUS);
    }

    @Test
    void theLossOfOneOfItsOwnThreadsEndsTheNode() {
        handler.uncaughtException(named("lite-poll-tcp"), new IllegalStateException("a defect"));
        assertThat(halted).containsExactly(LastResort.STATUS);
    }

    @Test
    void otherThreadsAndTasksMayFail() {
        handler.uncaughtException(named("http-1"), new IllegalStateException("a defect"));
        handler.uncaughtException(Thread.ofVirtual().unstarted(() -> {}), new StackOverflowError());
        assertThat(halted).isEmpty();
    }
}
