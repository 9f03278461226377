package dev.lite.samples.ordercounter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.RpcHandlerException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The receiver of fencing tokens, without a cluster. */
class WarehouseServiceTests {

    private final WarehouseService warehouse =
            new WarehouseService(new OrderProperties(List.of("tea", "coffee"), 100, 2, 1, Duration.ofSeconds(1)));

    @Test
    void aBookingWithAnOlderTokenIsRejectedAndChangesNothing() {
        warehouse.book(new Booking(1, "tea", 1, 99, 7));
        warehouse.book(new Booking(2, "tea", 2, 97, 9));

        assertThatThrownBy(() -> warehouse.book(new Booking(3, "tea", 1, 98, 8)))
                .isInstanceOfSatisfying(
                        RpcHandlerException.class,
                        rejected -> assertThat(rejected.handlerCode()).isEqualTo(Warehouse.STALE))
                .hasMessage("order 3 comes too late: its token for tea is 8, and 9 was seen");

        assertThat(warehouse.stock("tea")).isEqualTo(97);
        assertThat(warehouse.books()).isEqualTo(new Books(200, 3, 197, 2, 2));
    }

    @Test
    void theHolderOfALockMayBookSeveralTimes() {
        warehouse.book(new Booking(1, "tea", 1, 99, 7));
        warehouse.book(new Booking(2, "tea", 1, 98, 7));
        assertThat(warehouse.stock("tea")).isEqualTo(98);
    }

    @Test
    void eachArticleHasTokensOfItsOwn() {
        warehouse.book(new Booking(1, "tea", 1, 99, 7));
        warehouse.book(new Booking(2, "coffee", 1, 99, 3));
        assertThat(warehouse.books().areRight()).isTrue();
    }

    @Test
    void aStockComputedFromAnOldOneOrANumberUsedTwiceMakesTheBooksWrong() {
        warehouse.book(new Booking(1, "tea", 1, 99, 7));
        warehouse.book(new Booking(1, "coffee", 1, 99, 7));
        assertThat(warehouse.books().areRight()).isFalse();
        warehouse.book(new Booking(2, "coffee", 1, 99, 7));
        assertThat(warehouse.books().areRight()).isFalse();
    }
}
