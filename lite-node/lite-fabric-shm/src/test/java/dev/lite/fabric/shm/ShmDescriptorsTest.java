package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.driver.Arrivals;
import dev.lite.os.Linux;
import dev.lite.os.RawMemory;
import dev.lite.os.Received;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.testing.Inside;
import dev.lite.testing.NoDescriptors;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
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

    /** Else all other virtual threads of the process would wait, too. */
    @Test
    void virtualThreadsThatWaitForAPeerThatDoesNotReadKeepNoCarriers() {
        Path path = directory.resolve("slow");
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b");
                var listening = UnixServerSocket.bind(path, 0600, 1);
                var toSlow = UnixSocket.connect(path);
                var slow = listening.accept();
                var arena = Arena.ofShared()) {
            var message = arena.allocate(64);
            while (toSlow.trySend(message, message.byteSize())) {
                // until its queue is full
            }
            toSlow.setTimeout(0, TestNode.nanos(1));
            var toB = a.connectTo(b);
            Object usual = Inside.field(toB, "socket", UnixSocket.class);
            Inside.set(toB, "socket", toSlow);
            List<CompletableFuture<Boolean>> passes = new ArrayList<>();
            try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (int i = 0; i <= Runtime.getRuntime().availableProcessors(); i++) {
                    passes.add(
                            CompletableFuture.supplyAsync(() -> toB.passDescriptor(1, a.memory.descriptor()), threads));
                }
                threads.execute(() -> {
                    while (passes.stream().anyMatch(pass -> !pass.isDone())) {
                        Received received = slow.tryReceive(message);
                        if (received != null) {
                            received.closeDescriptors();
                        }
                        Waits.pass(Duration.ofMillis(1));
                    }
                });
            }
            Inside.set(toB, "socket", usual);
            assertThat(passes).extracting(CompletableFuture::join).containsOnly(true);
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
