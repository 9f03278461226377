package dev.lite.samples.priceboard;

import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The settings of both services. Instruments and spread must be the same for all.
 *
 * @param instruments Instruments, in the order of their rows on the board.
 * @param spread Difference between ask and bid, in cents.
 * @param interval Time between two quotes of an instrument.
 * @param quotes How many quotes of each instrument a viewer waits for before it ends.
 * @param staleAfter How long a viewer waits for the next quote before it fails.
 */
@ConfigurationProperties("price-board")
public record PriceBoardProperties(
        @DefaultValue({"TEA", "COFFEE", "COCOA"}) List<String> instruments,
        @DefaultValue("2") int spread,
        @DefaultValue("1ms") Duration interval,
        @DefaultValue("2000") int quotes,
        @DefaultValue("10s") Duration staleAfter) {

    /** Checks the values. */
    public PriceBoardProperties {
        if (instruments.isEmpty() || instruments.size() > PriceBoard.ROWS_MAX) {
            throw new IllegalArgumentException("price-board.instruments has %d entries; it must have 1 to %d"
                    .formatted(instruments.size(), PriceBoard.ROWS_MAX));
        }
    }
}
