package dev.lite.samples.priceboard;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.Permission;
import dev.lite.boot.region.LiteRegion;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Profile;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.stereotype.Component;

/** Reads the board as fast as it can, checks every quote, prints the board now and then, and ends. */
@Component
@Profile("viewer")
class Viewer implements ApplicationRunner {

    private static final int LINES = 4;

    private final PriceBoard board;
    private final PriceBoardProperties properties;

    Viewer(
            @LiteRegion(value = "${price-board.region}", permissions = Permission.READ) LmrHandle region,
            PriceBoardProperties properties) {
        this.board = new PriceBoard(region);
        this.properties = properties;
    }

    /** Starts again while there is no board: services start in any order. */
    @Override
    @Retryable(includes = LmrNotFoundException.class, delay = 100, maxRetries = 300)
    public void run(ApplicationArguments arguments) {
        Row[] rows = IntStream.range(0, properties.instruments().size())
                .mapToObj(Row::new)
                .toArray(Row[]::new);
        int lines = 0;
        long seen = 0;
        while (seen < properties.quotes()) {
            seen = Arrays.stream(rows).mapToLong(Row::look).min().orElseThrow();
            if (seen >= (lines + 1L) * properties.quotes() / LINES) {
                System.out.println(Arrays.stream(rows).map(Row::toString).collect(Collectors.joining("   ")));
                lines++;
            }
        }
        long reads = Arrays.stream(rows).mapToLong(row -> row.reads).sum();
        System.out.println("Read %,d quotes: all consistent, none older than the one before".formatted(reads));
    }

    /** What this viewer has seen of one instrument. */
    private final class Row {
        private final int index;
        private Quote last = new Quote(0, 0, 0);
        private long first;
        private long reads;
        private long changedNs = System.nanoTime();

        Row(int index) {
            this.index = index;
        }

        /** Reads and checks the latest quote; returns how many quotes were published since the first look. */
        long look() {
            Quote quote = board.latest(index).orElse(last);
            if (quote.number() > last.number()) {
                check(quote.ask() - quote.bid() == properties.spread(), "has another spread than %d cents", quote);
                first = first == 0 ? quote.number() : first;
                last = quote;
                changedNs = System.nanoTime();
            }
            check(quote.equals(last), "is older than the one before, or differs from it", quote);
            check(System.nanoTime() - changedNs < properties.staleAfter().toNanos(), "is stale", quote);
            reads++;
            return last.number() - first;
        }

        private void check(boolean holds, String what, Quote quote) {
            if (!holds) {
                throw new IllegalStateException("%s: the quote %s %s; the one before was %s"
                        .formatted(properties.instruments().get(index), quote, what, last));
            }
        }

        @Override
        public String toString() {
            return properties.instruments().get(index) + " " + last;
        }
    }
}
