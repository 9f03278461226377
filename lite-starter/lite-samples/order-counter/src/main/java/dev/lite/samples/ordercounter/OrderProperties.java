package dev.lite.samples.ordercounter;

import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The settings of both services.
 *
 * @param articles Articles that are sold.
 * @param pieces Pieces of each article that the warehouse has at first.
 * @param orders How many orders of each article each shop places.
 * @param shops Number of shops, which wait for each other before they check the books.
 * @param closing How long a shop waits for the others at the end.
 */
@ConfigurationProperties("order-counter")
public record OrderProperties(
        @DefaultValue({"tea", "coffee"}) List<String> articles,
        @DefaultValue("1000") int pieces,
        @DefaultValue("100") int orders,
        @DefaultValue("2") int shops,
        @DefaultValue("60s") Duration closing) {

    /** Checks the values. */
    public OrderProperties {
        if (articles.isEmpty()) {
            throw new IllegalArgumentException("order-counter.articles is empty; it must have at least 1 entry");
        }
        requireAtLeast("pieces", pieces, 0);
        requireAtLeast("orders", orders, 2); // the first one is entered again after another one
        requireAtLeast("shops", shops, 1);
    }

    private static void requireAtLeast(String name, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException(
                    "order-counter.%s is %d; it must be at least %d".formatted(name, value, least));
        }
    }
}
