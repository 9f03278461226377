package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FutexTest {
    private static final int ROUND_TRIPS = 1_000;
    private static final int WAITS = 5_000;

    private final SharedMemory memory = SharedMemory.createMemfd("futex-test", 4096);
    private final long word = memory.address() + 64;

    @AfterEach
    void close() {
        memory.close();
    }

    @Test
    void waitingOnAChangedWordReturnsAtOnce() {
        RawMemory.putInt(word, 1);
        assertThat(Futex.await(word, 0, Waits.seconds(20).toNanos())).isEqualTo(Futex.Wait.CHANGED);
    }

    @Test
    void aWaitEndsAtItsTimeout() {
        long start = System.nanoTime();
        assertThat(Futex.await(word, 0, 20_000_000)).isEqualTo(Futex.Wait.TIMED_OUT);
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(20_000_000);
        assertThat(Futex.await(word, 0, 0)).isEqualTo(Futex.Wait.TIMED_OUT);
        assertThat(Futex.await(word, 0, -1)).isEqualTo(Futex.Wait.TIMED_OUT);
    }

    @Test
    void wakingWithoutWaitersWakesNoThread() {
        assertThat(Futex.wake(word, Integer.MAX_VALUE)).isZero();
    }

    @Test
    void wakeWakesTheRequestedNumberOfThreads() throws InterruptedException {
        var waiters = new Thread[3];
        for (int i = 0; i < waiters.length; i++) {
            waiters[i] = Thread.ofPlatform().start(() -> {
                while (RawMemory.getIntVolatile(word) == 0) {
                    var ended = Futex.await(word, 0, Waits.seconds(20).toNanos());
                    assertThat(ended).isNotEqualTo(Futex.Wait.TIMED_OUT);
                }
            });
        }
        // Wake returns the number of sleeping threads. The word is still 0, so the woken threads sleep again.
        Waits.until("three sleep", () -> Futex.wake(word, Integer.MAX_VALUE) == waiters.length);
        Waits.until("one is woken", () -> Futex.wake(word, 1) == 1);
        RawMemory.putIntVolatile(word, 1);
        Futex.wake(word, Integer.MAX_VALUE);
        for (var waiter : waiters) {
            assertThat(waiter.join(Waits.seconds(20))).isTrue();
        }
    }

    @Test
    void wakeBitsWakesOnlyTheThreadsThatWaitForOneOfTheBits() throws InterruptedException {
        var waiters = new Thread[3];
        for (int i = 0; i < waiters.length; i++) {
            int bit = 1 << (i == 2 ? 31 : i);
            waiters[i] = Thread.ofPlatform().start(() -> {
                while (RawMemory.getIntVolatile(word) == 0) {
                    var ended = Futex.awaitBits(word, 0, bit, Waits.seconds(20).toNanos());
                    assertThat(ended).isNotEqualTo(Futex.Wait.TIMED_OUT);
                }
            });
        }
        Waits.until("all sleep", () -> Futex.wakeBits(word, -1) == waiters.length);
        Waits.until("the last one is woken", () -> Futex.wakeBits(word, 1 << 31) == 1);
        Waits.until("two of them are woken", () -> Futex.wakeBits(word, 1 | 1 << 1) == 2);
        assertThat(Futex.wakeBits(word, 1 << 7)).isZero();
        RawMemory.putIntVolatile(word, 1);
        Futex.wakeBits(word, -1);
        for (var waiter : waiters) {
            assertThat(waiter.join(Waits.seconds(20))).isTrue();
        }
    }

    @Test
    void aWaitForBitsEndsAtItsTimeoutAndOnAChangedWord() {
        long start = System.nanoTime();
        assertThat(Futex.awaitBits(word, 0, 1, 20_000_000)).isEqualTo(Futex.Wait.TIMED_OUT);
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(20_000_000);
        assertThat(Futex.awaitBits(word, 0, 1, -1)).isEqualTo(Futex.Wait.TIMED_OUT);
        assertThat(Futex.awaitBits(word, 1, 1, Waits.seconds(20).toNanos())).isEqualTo(Futex.Wait.CHANGED);
    }

    @Test
    void theLongestTimeoutOfAWaitForBitsDoesNotOverflow() throws InterruptedException {
        var waiter = Thread.ofPlatform().daemon().start(() -> Futex.awaitBits(word, 0, 1, Long.MAX_VALUE));
        Waits.until("it sleeps", () -> Futex.wakeBits(word, 1) == 1);
        assertThat(waiter.join(Waits.seconds(20))).isTrue();
    }

    @Test
    void anInvalidAddressIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> Futex.await(word + 2, 0, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> Futex.wake(word + 1, 1));
        assertThatThrownBy(() -> Futex.await(4096, 0, 1))
                .isInstanceOf(OsException.class)
                .hasMessageContaining("futex(wait, 0x1000): EFAULT");
    }

    @Test
    void twoProcessesWakeEachOther(@TempDir(factory = InDevShm.class) Path directory) throws InterruptedException {
        var file = directory.resolve("words");
        try (var shared = SharedMemory.createFile(file, 4096);
                var child = ChildJvm.start(Echo.class, file.toString())) {
            assertThat(child.line()).isEqualTo("ready");
            for (int i = 1; i <= ROUND_TRIPS; i++) {
                RawMemory.putIntVolatile(shared.address(), i);
                Futex.wake(shared.address(), 1);
                awaitValue(shared.address() + Echo.REPLY, i);
            }
            assertThat(child.exitValue()).isZero();
        }
    }

    @Test
    void waitingAndWakingAllocateNothingOnTheHeap() {
        assertThat(AllocatedBytes.least(WaitsAndWakes.class, WAITS)).isLessThan(WAITS);
    }

    /** The other process. */
    static final class WaitsAndWakes {
        private WaitsAndWakes() {}

        public static void main(String[] arguments) {
            try (var memory = SharedMemory.createMemfd("futex-test", 4096)) {
                long word = memory.address();
                AllocatedBytes.print(arguments, () -> {
                    for (int i = 0; i < WAITS; i++) {
                        Futex.await(word, 1, 1_000);
                        Futex.await(word, 0, 0);
                        Futex.wake(word, 1);
                    }
                });
            }
        }
    }

    private static void awaitValue(long address, int value) {
        long deadline = System.nanoTime() + Waits.seconds(20).toNanos();
        int seen;
        while ((seen = RawMemory.getIntVolatile(address)) != value) {
            assertThat(deadline - System.nanoTime())
                    .as("time left for " + value)
                    .isPositive();
            Futex.await(address, seen, deadline - System.nanoTime());
        }
    }

    /** The other process: copies each number from the first word to the second. */
    static final class Echo {
        static final long REPLY = 128;

        private Echo() {}

        public static void main(String[] arguments) {
            try (var shared = SharedMemory.openFile(Path.of(arguments[0]))) {
                System.out.println("ready");
                for (int i = 1; i <= ROUND_TRIPS; i++) {
                    awaitValue(shared.address(), i);
                    RawMemory.putIntVolatile(shared.address() + REPLY, i);
                    Futex.wake(shared.address() + REPLY, 1);
                }
            }
        }
    }
}
