package dev.lite.samples.ordercounter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LmrHandle;
import dev.lite.api.LtSync;
import dev.lite.boot.region.LiteRegion;
import dev.lite.test.LiteTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.DefaultApplicationArguments;

/** What a shop does first, with a warehouse in this test. */
@LiteTest
class ShopTests {

    @Autowired
    @LiteRegion(value = "test/orders", size = "4KB")
    LmrHandle counters;

    @Autowired
    LtSync sync;

    @Test
    void aShopWaitsForTheWarehouseBeforeItPlacesAnOrderAndSoBeforeItHoldsALock() {
        List<String> done = new ArrayList<>();
        Warehouse warehouse = new Warehouse() {
            @Override
            public int stock(String article) {
                return 0;
            }

            @Override
            public void book(Booking booking) {}

            @Override
            public Books books() {
                done.add("asked for the books");
                return new Books(0, 0, 0, 0, 0);
            }
        };
        OrderDesk desk = new OrderDesk(counters, warehouse) {
            @Override
            Booking order(String article, int pieces) {
                done.add("ordered " + article);
                throw new IllegalStateException("sold out");
            }
        };
        Shop shop =
                new Shop(desk, warehouse, sync, new OrderProperties(List.of("tea"), 9, 2, 1, Duration.ofSeconds(1)));

        assertThatThrownBy(() -> shop.run(new DefaultApplicationArguments())).hasMessage("sold out");
        assertThat(done).containsExactly("asked for the books", "ordered tea");
    }
}
