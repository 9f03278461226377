package dev.lite.bench;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

/** A thread that ends early must not make the others look fast. */
class FailedCallersTest {
    @Test
    void aCallThatFailsInAnyThreadFailsTheMeasurement() {
        assertThatThrownBy(() -> RpcThroughputBench.call(new FailsElsewhere(), 4, 8, 400))
                .hasStackTraceContaining("no server");
    }

    @Test
    void aContenderThatFailsFailsTheMeasurementOfHandOvers() {
        ReentrantLock lock = new ReentrantLock(true);
        LockBench.Critical works = inside -> {
            lock.lock();
            try {
                inside.run();
            } finally {
                lock.unlock();
            }
        };
        AtomicBoolean once = new AtomicBoolean();
        LockBench.Critical fails = inside -> {
            works.run(inside);
            if (once.compareAndSet(false, true)) {
                throw new IllegalStateException("the lock was lost");
            }
        };

        assertThatThrownBy(() -> LockBench.handOverNs(List.of(works, works, fails)))
                .hasStackTraceContaining("the lock was lost");
    }

    /** Works in the thread that made it only. */
    private static final class FailsElsewhere implements RpcClient {
        private final Thread here = Thread.currentThread();

        @Override
        public String node() {
            return "node-1";
        }

        @Override
        public String function() {
            return "echo";
        }

        @Override
        public long call(MemorySegment request, MemorySegment reply, Duration deadline) {
            if (Thread.currentThread() != here) {
                throw new IllegalStateException("no server");
            }
            return reply.byteSize();
        }

        @Override
        public RpcClient withContext(String context) {
            return this;
        }

        @Override
        public RpcClient withPriority(Priority priority) {
            return this;
        }

        @Override
        public byte[] call(byte[] request, Duration deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline) {
            throw new UnsupportedOperationException();
        }
    }
}
