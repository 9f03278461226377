package dev.lite.samples.ordercounter;

import dev.lite.api.LtSync;
import dev.lite.api.RpcFailedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/** Places its orders beside the other shops, tries to enter one of them too late, and checks the warehouse's books. */
@Component
@Profile("shop")
final class Shop implements ApplicationRunner {

    static final int PIECES_MAX = 3;

    private final OrderDesk desk;
    private final Warehouse warehouse;
    private final LtSync sync;
    private final OrderProperties properties;

    Shop(OrderDesk desk, Warehouse warehouse, LtSync sync, OrderProperties properties) {
        this.desk = desk;
        this.warehouse = warehouse;
        this.sync = sync;
        this.properties = properties;
    }

    @Override
    public void run(ApplicationArguments arguments) {
        // Waits until there is a warehouse. An order would wait for it with the lock in hand, and longer than
        // others wait for the lock.
        warehouse.books();
        List<Booking> bookings = new ArrayList<>();
        for (int count = 0; count < properties.orders(); count++) {
            for (String article : properties.articles()) {
                bookings.add(desk.order(article, ThreadLocalRandom.current().nextInt(1, PIECES_MAX + 1)));
            }
        }
        System.out.println("Placed %,d orders, from number %,d to %,d"
                .formatted(
                        bookings.size(),
                        bookings.getFirst().order(),
                        bookings.getLast().order()));
        bookAgain(bookings.getFirst());
        sync.barrier("order-counter/closing", properties.shops()).await(properties.closing());
        check(warehouse.books());
    }

    /** Does what a shop does that was paused for a long time while it placed an order. */
    private void bookAgain(Booking late) {
        try {
            warehouse.book(late);
        } catch (RpcFailedException e) {
            if (e.handlerCode() != Warehouse.STALE) {
                throw e;
            }
            System.out.println("Refused as it should be: " + e.getMessage());
            return;
        }
        throw new IllegalStateException("the warehouse accepted an old fencing token: " + late);
    }

    private static void check(Books books) {
        if (!books.areRight()) {
            throw new IllegalStateException("the books are wrong: " + books);
        }
        System.out.println("The books are right: %,d pieces at first, %,d sold by %,d orders, %,d left"
                .formatted(books.atFirst(), books.sold(), books.orders(), books.left()));
    }
}
