package dev.lite.samples.priceboard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.LmrHandle;
import dev.lite.boot.region.LiteRegion;
import dev.lite.test.LiteTest;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;

/** The protocol between writer and readers, with a node in this JVM. */
@LiteTest
class PriceBoardTests {

    private static final int ROW = 3;

    @Autowired
    @LiteRegion(value = "test/price-board", size = PriceBoard.SIZE)
    LmrHandle region;

    private PriceBoard board;
    private long bid;

    @BeforeEach
    void clear() {
        region.memset(0, region.size(), (byte) 0);
        board = new PriceBoard(region);
    }

    @Test
    void aRowWithoutAQuoteIsEmpty() {
        board.publish(ROW - 1, 10, 12);
        assertThat(board.latest(ROW)).isEmpty();
    }

    @Test
    void aReaderGetsTheLatestQuoteOfItsRowAlsoAfterTheSlotsWereUsedManyTimes() {
        publish(5 * PriceBoard.SLOTS + 3);
        assertThat(board.latest(ROW)).contains(new Quote(5 * PriceBoard.SLOTS + 3, bid, bid + 2));
        assertThat(board.latest(ROW + 1)).isEmpty();
    }

    @Test
    void aWriterContinuesWithTheNextNumberAfterARestart() {
        publish(2);
        assertThat(new PriceBoard(region).publish(ROW, 7, 9).number()).isEqualTo(3);
    }

    @Test
    void aQuoteThatIsReplacedWhileItIsReadIsStillConsistent() {
        publish(1);
        PriceBoard interrupted = new PriceBoard(new BetweenReads(() -> publish(PriceBoard.SLOTS - 2)));
        assertThat(interrupted.latest(ROW)).contains(new Quote(1, 1, 3));
    }

    @Test
    void aReaderThatIsTooSlowStartsAgain() {
        publish(1);
        PriceBoard interrupted = new PriceBoard(new BetweenReads(() -> {
            publish(PriceBoard.SLOTS - 1);
            // The next quote is half written.
            region.write(slotOfQuoteOne(), MemorySegment.ofArray(new long[] {1 + PriceBoard.SLOTS, 1000}));
        }));
        assertThat(interrupted.latest(ROW))
                .contains(new Quote(PriceBoard.SLOTS, PriceBoard.SLOTS, PriceBoard.SLOTS + 2));
    }

    private static long slotOfQuoteOne() {
        return (ROW << 10) + 64 + 32;
    }

    private void publish(int quotes) {
        for (int count = 0; count < quotes; count++) {
            bid++;
            board.publish(ROW, bid, bid + 2);
        }
    }

    /** Runs an action once, after the number of the latest quote was read and before the quote is. */
    private final class BetweenReads extends ForwardingLmrHandle {
        private Runnable action;

        BetweenReads(Runnable action) {
            this.action = action;
        }

        @Override
        public LmrHandle unwrap() {
            return region;
        }

        @Override
        public void read(long offset, MemorySegment destination) {
            if (destination.byteSize() > Long.BYTES) {
                Runnable now = action;
                action = () -> {};
                now.run();
            }
            super.read(offset, destination);
        }
    }
}
