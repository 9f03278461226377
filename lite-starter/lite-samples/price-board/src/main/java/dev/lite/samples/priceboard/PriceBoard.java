package dev.lite.samples.priceboard;

import dev.lite.api.LmrHandle;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * The layout of the board in remote memory, and the protocol between its one writer and its many readers. Nobody waits for anybody: the
 * writer never waits for readers, and a writer that dies blocks no reader.
 *
 * <p>Each instrument has a row. A row begins with a word, the number of the latest quote, and has {@value #SLOTS} slots for quotes, which
 * are used in turn:
 *
 * <pre>
 *   latest = 18 | quote 16 | quote 17 | quote 18 | quote 3 | … | quote 15
 * </pre>
 *
 * <ul>
 *   <li>The writer writes quote n into its slot, and then publishes it: it puts n into the word. LITE guarantees that a reader of the
 *       new word also sees the quote that was written before.
 *   <li>A reader gets n from the word and reads the slot of n. The writer uses this slot again only for quote n + {@value #SLOTS}.
 *       A reader that was too slow finds this out by a second look at the word, and starts again.
 * </ul>
 *
 * <p>Any number of threads may read. Only one thread in the cluster may write.
 */
final class PriceBoard {

    /** The size of the LMR, for {@code @LiteRegion}. */
    static final String SIZE = "64KB";

    /** The number of instruments for which there is room. */
    static final int ROWS_MAX = 64;

    static final int SLOTS = 16;

    private static final long ROW_BYTES = 1 << 10;
    private static final long SLOTS_OFFSET = 64; // the word has a cache line of its own
    private static final long SLOT_BYTES = 32;

    private final LmrHandle memory;

    PriceBoard(LmrHandle memory) {
        this.memory = memory;
    }

    /** Publishes the next quote of a row, also after a restart of the writer, and returns it. */
    Quote publish(int row, long bid, long ask) {
        long word = row * ROW_BYTES;
        Quote quote = new Quote(memory.getLong(word) + 1, bid, ask);
        memory.write(slot(row, quote.number()), MemorySegment.ofArray(new long[] {quote.number(), bid, ask}));
        memory.putLong(word, quote.number());
        return quote;
    }

    /** The latest quote of a row; empty before the first one. */
    Optional<Quote> latest(int row) {
        long word = row * ROW_BYTES;
        long[] slot = new long[3];
        for (long number = memory.getLong(word); number > 0; ) {
            memory.read(slot(row, number), MemorySegment.ofArray(slot));
            long latest = memory.getLong(word);
            // After the latest quote the writer may already be writing the next one.
            if (latest + 1 < number + SLOTS) {
                return Optional.of(new Quote(slot[0], slot[1], slot[2]));
            }
            number = latest;
        }
        return Optional.empty();
    }

    private static long slot(int row, long number) {
        return row * ROW_BYTES + SLOTS_OFFSET + number % SLOTS * SLOT_BYTES;
    }
}
