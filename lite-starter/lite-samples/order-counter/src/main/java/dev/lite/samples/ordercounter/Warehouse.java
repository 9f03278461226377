package dev.lite.samples.ordercounter;

import dev.lite.boot.client.LtRpcClient;
import org.springframework.resilience.annotation.Retryable;

/**
 * The warehouse, as the shops see it: at whatever node it runs. A call that reached no warehouse was not executed, so it is repeated;
 * services start in any order.
 */
@LtRpcClient(prefix = "warehouse/", deadline = "5s")
@Retryable(predicate = NotServed.class, delay = 100, maxRetries = 300)
interface Warehouse {

    /** The warehouse refused a booking, because its fencing token is older than one that it has seen. */
    int STALE = 409;

    /** How many pieces of an article are left. */
    int stock(String article);

    /** Enters an order and the new stock. Fails with the handler's code {@link #STALE} if its fencing token is too old. */
    void book(Booking booking);

    /** The books of all articles. */
    Books books();
}
