package dev.lite.samples.priceboard;

import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.boot.region.LiteRegion;
import java.util.concurrent.ThreadLocalRandom;
import org.springframework.context.annotation.Profile;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Publishes a new quote of each instrument at every tick. It creates the board, and only it may write there. */
@Component
@Profile("publisher")
final class Publisher {

    private static final long BID_MIN = 100;
    private static final long STEP_MAX = 5;

    private final PriceBoard board;
    private final PriceBoardProperties properties;
    private final long[] bids;

    Publisher(
            @LiteRegion(
                            value = "${price-board.region}",
                            size = PriceBoard.SIZE,
                            permissions = {Permission.READ, Permission.WRITE},
                            defaultPermissions = Permission.READ)
                    LmrHandle region,
            PriceBoardProperties properties) {
        this.board = new PriceBoard(region);
        this.properties = properties;
        this.bids = ThreadLocalRandom.current()
                .longs(properties.instruments().size(), 10 * BID_MIN, 50 * BID_MIN)
                .toArray();
    }

    @Scheduled(fixedRateString = "${price-board.interval:1ms}")
    void tick() {
        for (int row = 0; row < bids.length; row++) {
            long step = ThreadLocalRandom.current().nextLong(-STEP_MAX, STEP_MAX + 1);
            bids[row] = Math.max(BID_MIN, bids[row] + step);
            Quote quote = board.publish(row, bids[row], bids[row] + properties.spread());
            if (quote.number() == 1) {
                System.out.println("First quote of %s: %s"
                        .formatted(properties.instruments().get(row), quote));
            }
        }
    }
}
