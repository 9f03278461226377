package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RawMemoryTest {
    private static final int ADDS = 200_000;

    private final SharedMemory memory = SharedMemory.createMemfd("raw-test", 1 << 16);
    private final long base = memory.address();

    @AfterEach
    void close() {
        memory.close();
    }

    @Test
    void copiesMoveBytesBetweenAddressesAndSegments() {
        byte[] bytes = {1, 2, 3, 4, 5, 6, 7, 8};
        RawMemory.copyFrom(MemorySegment.ofArray(bytes), 2, base + 1, 5);
        RawMemory.copy(base + 1, base + 100, 5);
        var back = new byte[8];
        RawMemory.copyTo(base + 100, MemorySegment.ofArray(back), 1, 5);
        assertThat(back).containsExactly(0, 3, 4, 5, 6, 7, 0, 0);
    }

    @Test
    void overlappingCopiesAreCorrect() {
        for (int i = 0; i < 64; i++) {
            RawMemory.putByte(base + i, (byte) i);
        }
        RawMemory.copy(base, base + 8, 56);
        for (int i = 0; i < 56; i++) {
            assertThat(RawMemory.getByte(base + 8 + i)).isEqualTo((byte) i);
        }
    }

    @Test
    void fillChangesOnlyItsRange() {
        RawMemory.fill(base + 1, 3, (byte) 0x5a);
        assertThat(memory.segment().asSlice(0, 5).toArray(JAVA_BYTE)).containsExactly(0, 0x5a, 0x5a, 0x5a, 0);
        RawMemory.fill(base, 0, (byte) 1);
        assertThat(RawMemory.getByte(base)).isZero();
    }

    @Test
    void everyAccessModeOfALongAccessesTheSameWord() {
        long word = base + 64;
        RawMemory.putLong(word, 1);
        assertThat(RawMemory.getLongOpaque(word)).isEqualTo(1);
        RawMemory.putLongOpaque(word, 2);
        assertThat(RawMemory.getLongAcquire(word)).isEqualTo(2);
        RawMemory.putLongRelease(word, 3);
        assertThat(RawMemory.getLongVolatile(word)).isEqualTo(3);
        RawMemory.putLongVolatile(word, 4);
        assertThat(RawMemory.getAndAddLong(word, -5)).isEqualTo(4);
        assertThat(RawMemory.compareAndExchangeLong(word, 0, 9)).isEqualTo(-1);
        assertThat(RawMemory.compareAndExchangeLong(word, -1, 9)).isEqualTo(-1);
        assertThat(RawMemory.compareAndSetLong(word, -1, 10)).isFalse();
        assertThat(RawMemory.compareAndSetLong(word, 9, 10)).isTrue();
        assertThat(RawMemory.getAndSetLong(word, 11)).isEqualTo(10);
        assertThat(memory.segment().get(JAVA_LONG, 64)).isEqualTo(11);
    }

    @Test
    void everyAccessModeOfAnIntAccessesTheSameWord() {
        long word = base + 68;
        RawMemory.putLong(base + 64, -1);
        RawMemory.putInt(word, 1);
        assertThat(RawMemory.getIntOpaque(word)).isEqualTo(1);
        RawMemory.putIntOpaque(word, 2);
        assertThat(RawMemory.getIntAcquire(word)).isEqualTo(2);
        RawMemory.putIntRelease(word, 3);
        assertThat(RawMemory.getIntVolatile(word)).isEqualTo(3);
        RawMemory.putIntVolatile(word, 4);
        assertThat(RawMemory.getAndAddInt(word, -5)).isEqualTo(4);
        assertThat(RawMemory.compareAndExchangeInt(word, -1, 9)).isEqualTo(-1);
        assertThat(RawMemory.compareAndSetInt(word, 9, 10)).isTrue();
        assertThat(RawMemory.getAndSetInt(word, 11)).isEqualTo(10);
        assertThat(RawMemory.getInt(word)).isEqualTo(11);
        assertThat(RawMemory.getInt(base + 64)).as("the adjacent word").isEqualTo(-1);
    }

    @Test
    void plainAccessMayBeUnalignedButAtomicAccessMayNot() {
        RawMemory.putLong(base + 3, 0x0102030405060708L);
        assertThat(RawMemory.getLong(base + 3)).isEqualTo(0x0102030405060708L);
        assertThatIllegalArgumentException().isThrownBy(() -> RawMemory.getLongVolatile(base + 3));
        assertThatIllegalArgumentException().isThrownBy(() -> RawMemory.getAndAddInt(base + 2, 1));
    }

    @Test
    void aNegativeAddressIsRefused() {
        assertThatThrownBy(() -> RawMemory.getLong(-8)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> RawMemory.copy(base, -8, 8)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void noAddOfTwoProcessesIsLost(@TempDir(factory = InDevShm.class) Path directory) throws InterruptedException {
        var file = directory.resolve("word");
        try (var shared = SharedMemory.createFile(file, 4096);
                var child = ChildJvm.start(Adds.class, file.toString())) {
            assertThat(child.line()).isEqualTo("ready");
            RawMemory.putLongVolatile(shared.address() + 8, 1);
            for (int i = 0; i < ADDS; i++) {
                RawMemory.getAndAddLong(shared.address(), 1);
            }
            assertThat(child.exitValue()).isZero();
            assertThat(RawMemory.getLongVolatile(shared.address())).isEqualTo(2L * ADDS);
        }
    }

    /** The other process: adds concurrently, as often as the test. */
    static final class Adds {
        private Adds() {}

        public static void main(String[] arguments) {
            try (var shared = SharedMemory.openFile(Path.of(arguments[0]))) {
                System.out.println("ready");
                while (RawMemory.getLongVolatile(shared.address() + 8) == 0) {
                    Thread.onSpinWait();
                }
                for (int i = 0; i < ADDS; i++) {
                    RawMemory.getAndAddLong(shared.address(), 1);
                }
            }
        }
    }

    @Test
    void nothingIsAllocatedOnTheHeap() {
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        // Repeats until the JIT compiler is done, which takes longer on a busy machine.
        long deadline = System.nanoTime() + Waits.seconds(20).toNanos();
        long allocatedMin = Long.MAX_VALUE;
        while (allocatedMin >= 20_000 && System.nanoTime() < deadline) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 20_000; i++) {
                RawMemory.copy(base, base + 4096, 64);
                RawMemory.fill(base + 8192, 64, (byte) i);
                RawMemory.getAndAddLong(base, RawMemory.getLongAcquire(base + 64));
                RawMemory.compareAndExchangeLong(base + 8, i, i + 1L);
            }
            allocatedMin = Math.min(allocatedMin, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(allocatedMin).isLessThan(20_000);
    }
}
