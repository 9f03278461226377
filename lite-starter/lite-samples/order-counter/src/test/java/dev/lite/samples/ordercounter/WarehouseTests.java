package dev.lite.samples.ordercounter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LtRpc;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandlerException;
import dev.lite.api.RpcServer;
import dev.lite.test.LiteTest;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.event.EventListener;
import org.springframework.resilience.retry.MethodRetryEvent;

/** The client of the warehouse, with a node in this JVM. */
@SpringBootTest
@LiteTest
class WarehouseTests {

    @Autowired
    Warehouse warehouse;

    @Autowired
    LtRpc rpc;

    /** Opens the warehouse when the first call has found none. */
    @TestConfiguration
    static class OpensLate {

        private final LtRpc rpc;
        private @Nullable RpcServer opened;

        OpensLate(LtRpc rpc) {
            this.rpc = rpc;
        }

        @EventListener(MethodRetryEvent.class)
        void open() {
            if (opened == null) {
                opened = rpc.register(
                        "warehouse/stock", 1, call -> MemorySegment.ofArray("7".getBytes(StandardCharsets.US_ASCII)));
            }
        }
    }

    @Test
    void aCallIsRepeatedUntilThereIsAWarehouse() {
        assertThat(warehouse.stock("tea")).isEqualTo(7);
    }

    @Test
    void aRejectedBookingIsNotRepeated() {
        AtomicInteger calls = new AtomicInteger();
        try (RpcServer rejecting = rpc.register("warehouse/book", 1, call -> {
            calls.incrementAndGet();
            throw new RpcHandlerException(Warehouse.STALE, "too late");
        })) {
            assertThatExceptionOfType(RpcFailedException.class)
                    .isThrownBy(() -> warehouse.book(new Booking(1, "tea", 1, 99, 7)))
                    .satisfies(failure -> assertThat(failure.handlerCode()).isEqualTo(Warehouse.STALE));
            assertThat(rejecting.function()).isEqualTo("warehouse/book");
        }
        assertThat(calls).hasValue(1);
    }
}
