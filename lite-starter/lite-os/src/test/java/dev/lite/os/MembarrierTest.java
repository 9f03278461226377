package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.testing.Waits;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MembarrierTest {
    private static final int ROUNDS = 200_000;
    private static final long CACHE_LINE_PAIR = 128;

    @Test
    void registeringTwiceIsAllowed() {
        assumeTrue(Membarrier.register(), "this kernel has no membarrier");
        assertThat(Membarrier.register()).isTrue();
        assertThatCode(Membarrier::barrier).doesNotThrowAnyException();
    }

    /**
     * Dekker's test: each side stores its own word, then reads the other's. If both read the old value, a barrier is missing. Only the
     * rarely executed side has a barrier.
     */
    @Test
    void oneSideNeedsNoBarrier() throws InterruptedException {
        assumeTrue(Membarrier.register(), "this kernel has no membarrier");
        try (var memory = SharedMemory.createMemfd("membarrier-test", 4096)) {
            long a = memory.address();
            long b = memory.address() + CACHE_LINE_PAIR;
            var frequentSaw = new AtomicInteger();
            var round = new AtomicInteger();
            var done = new AtomicInteger();
            var frequent = Thread.ofPlatform().daemon().start(() -> {
                for (int i = 1; i <= ROUNDS; i++) {
                    while (round.get() < i) {
                        Thread.onSpinWait();
                    }
                    RawMemory.putLongOpaque(a, i);
                    frequentSaw.setPlain((int) RawMemory.getLongOpaque(b));
                    done.set(i);
                }
            });
            int bothOld = 0;
            long deadline = System.nanoTime() + Waits.seconds(5).toNanos();
            int i = 0;
            while (i < ROUNDS && System.nanoTime() < deadline) {
                i++;
                round.set(i);
                RawMemory.putLongOpaque(b, i);
                Membarrier.barrier();
                long rareSaw = RawMemory.getLongOpaque(a);
                while (done.get() < i) {
                    Thread.onSpinWait();
                }
                if (rareSaw != i && frequentSaw.get() != i) {
                    bothOld++;
                }
            }
            round.set(Integer.MAX_VALUE);
            assertThat(frequent.join(Waits.seconds(20))).isTrue();
            assertThat(i).isPositive();
            assertThat(bothOld).isZero();
        }
    }
}
