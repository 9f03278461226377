package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.driver.Arrivals;
import dev.lite.os.Linux;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.testing.NoDescriptors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Descriptors that peers pass. */
@Isolated("it counts the descriptors of its process")
class ShmDescriptorsTest {
    @TempDir
    Path directory;

    @Test
    void aPassedDescriptorIsTakenByItsTagOnEitherSide() throws IOException {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b");
                var memory = SharedMemory.createMemfd("passed", 4096)) {
            var toB = a.connectTo(b);
            var toA = b.accepted.getFirst();
            for (var pair : List.of(List.of(toB, toA), List.of(toA, toB))) {
                assertThat(pair.getFirst().passesDescriptors()).isTrue();
                assertThat(pair.getFirst().passDescriptor(7, memory.descriptor()))
                        .isTrue();
                assertThat(pair.getFirst().passDescriptor(-8, a.memory.descriptor()))
                        .isTrue();
                RawMemory.putLong(memory.address(), 1234);
                try (var taken =
                        SharedMemory.fromDescriptor(pair.getLast().takeDescriptor(7, TestNode.nanos(10)), 4096, true)) {
                    assertThat(RawMemory.getLong(taken.address())).isEqualTo(1234);
                }
                assertThat(pair.getLast().takeDescriptor(7, 0)).isEqualTo(-1);
                int other = pair.getLast().takeDescriptor(-8, TestNode.nanos(10));
                assertThat(Files.size(Path.of("/proc/self/fd/" + other))).isEqualTo(TestNode.MEMORY_BYTES);
                Linux.closeDescriptor(other);
            }
        }
    }

    @Test
    void aDescriptorIsAwaitedUntilTheTimeoutOrTheEndOfTheConnection() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b");
                var memory = SharedMemory.createMemfd("passed", 4096)) {
            var toB = a.connectTo(b);
            var toA = b.accepted.getFirst();
            assertThat(toA.takeDescriptor(1, 1_000_000)).isEqualTo(-1);
            var awaited = CompletableFuture.supplyAsync(() -> toA.takeDescriptor(1, TestNode.nanos(20)));
            var cut = CompletableFuture.supplyAsync(() -> toA.takeDescriptor(2, TestNode.nanos(20)));
            assertThat(toB.passDescriptor(1, memory.descriptor())).isTrue();
            Linux.closeDescriptor(awaited.join());
            assertThat(cut).isNotDone();
            toB.close();
            assertThat(cut.join()).isEqualTo(-1);
            assertThat(toB.passDescriptor(3, memory.descriptor())).isFalse();
            assertThat(toA.passDescriptor(3, memory.descriptor())).isFalse();
        }
    }

    @Test
    void descriptorsThatNobodyTakesAreBoundedAndClosed() throws IOException {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var toA = b.accepted.getFirst();
            long before = TestNode.openDescriptors();
            int passes = 3 * Arrivals.KEPT_MAX;
            for (int tag = 1; tag <= passes; tag++) {
                assertThat(toB.passDescriptor(tag, a.memory.descriptor())).isTrue();
            }
            int last = toA.takeDescriptor(passes, TestNode.nanos(10));
            assertThat(last).isNotEqualTo(-1);
            assertThat(toA.takeDescriptor(passes - Arrivals.KEPT_MAX, 0)).isEqualTo(-1);
            assertThat(TestNode.openDescriptors()).isEqualTo(before + Arrivals.KEPT_MAX);
            Linux.closeDescriptor(last);
            toA.close();
            assertThat(TestNode.openDescriptors()).isLessThanOrEqualTo(before);
        }
    }

    @Test
    void aPassForWhichThisProcessHasNoDescriptorLeftEndsItsWaitAndNotTheConnection() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var toA = b.accepted.getFirst();
            assertThat(toB.passDescriptor(1, a.memory.descriptor())).isTrue();
            Linux.closeDescriptor(toA.takeDescriptor(1, TestNode.nanos(20)));
            int taken = NoDescriptors.during(() -> {
                var waits = CompletableFuture.supplyAsync(() -> toA.takeDescriptor(2, TestNode.nanos(20)));
                boolean unused = toB.passDescriptor(2, a.memory.descriptor());
                return waits.join();
            });
            assertThat(taken).isEqualTo(-1);
            assertThat(toB.passDescriptor(3, a.memory.descriptor())).isTrue();
            int next = toA.takeDescriptor(3, TestNode.nanos(20));
            assertThat(next).isNotEqualTo(-1);
            Linux.closeDescriptor(next);
        }
    }
}
