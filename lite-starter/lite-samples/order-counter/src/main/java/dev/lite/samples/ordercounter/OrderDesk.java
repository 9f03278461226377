package dev.lite.samples.ordercounter;

import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.boot.lock.LiteLock;
import dev.lite.boot.lock.LiteLocks;
import dev.lite.boot.region.LiteRegion;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/** Places orders. */
@Service
@Profile("shop")
class OrderDesk {

    private static final long NEXT_ORDER = 0; // the offset of the counter

    private final LmrHandle counters;
    private final Warehouse warehouse;

    /** The first shop that counts creates the counter; the others, and later starts, map it. */
    OrderDesk(
            @LiteRegion(
                            value = "${order-counter.region}",
                            size = "4KB",
                            permissions = Permission.ATOMIC,
                            defaultPermissions = Permission.ATOMIC)
                    LmrHandle counters,
            Warehouse warehouse) {
        this.counters = counters;
        this.warehouse = warehouse;
    }

    /**
     * Orders some pieces of an article. No two orders of all shops have the same number. The lock keeps other shops from changing the
     * stock between the two calls. If this shop pauses for so long that it loses the lock, its token keeps the warehouse from believing
     * it.
     *
     * @throws IllegalStateException when too few are left
     */
    @LiteLock(value = "order-counter/#{#article}", deadline = "10s")
    Booking order(String article, int pieces) {
        int left = warehouse.stock(article) - pieces;
        if (left < 0) {
            throw new IllegalStateException(
                    "%d pieces of %s were ordered, %d too many".formatted(pieces, article, -left));
        }
        long number = counters.fetchAdd(NEXT_ORDER, 1) + 1;
        Booking booking =
                new Booking(number, article, pieces, left, LiteLocks.current().fencingToken());
        warehouse.book(booking);
        return booking;
    }
}
