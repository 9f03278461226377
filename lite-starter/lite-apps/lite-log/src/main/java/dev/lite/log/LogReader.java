package dev.lite.log;

import dev.lite.api.LmrFreedException;
import dev.lite.api.SessionLostException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Reads a log from a position on, in order, and follows its end. Made by {@link LiteLog#reader} or, with a position that is kept by name,
 * by {@link LiteLog#consumer}.
 *
 * <p><b>Threads.</b> One thread at a time.
 *
 * <p><b>Errors.</b> After an exception the reader is where it was, and may be used again. Besides those of {@link
 * dev.lite.api.LmrHandle}, every read may throw {@link LogPositionException} when its position was cleaned or lost, {@link
 * LogCorruptedException}, and that of a consumer {@link ConsumerLostException}: close it, and open it again.
 */
public final class LogReader implements AutoCloseable {
    private static final long SPIN_NS = 50_000;
    private static final long SLEEP_NS_MIN = 20_000;
    private static final long SLEEP_NS_MAX = 10_000_000;
    /** A writer that lives commits long before that, unless it is paused. */
    private static final long PROOF_NS_MIN = 10_000_000;

    private static final int DATA_BYTES = 64 << 10;
    /** A larger buffer is given up after so many reads that did not need it; not at once, since it is costly. */
    private static final int SMALL_READS = 16;

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.nativeOrder());

    private final LiteLog log;
    private final Segments segments;
    private final Writers writers;
    private final @Nullable Consumer consumer;
    private final long holeTimeoutNs;
    private final SlotWindow window = new SlotWindow();
    private final CRC32C crc = new CRC32C();
    private ByteBuffer buffer = ByteBuffer.allocateDirect(DATA_BYTES);
    private MemorySegment memory = MemorySegment.ofBuffer(buffer);
    /** How many reads in a row would have fitted into {@link #DATA_BYTES}. */
    private int smallReads;

    private @Nullable Segment current;
    private long segment;
    private int slot;
    private int index;
    /** In the current slot, whose entries are intact if this is not negative: the bytes of the transactions that were given. */
    private int walkedBytes = -1;

    private int walked;
    /** The units from {@code dataFrom} to {@code dataTo} of the segment are in the buffer. */
    private long dataSegment = -1;

    private long dataFrom;
    private long dataTo;
    /** The slot for which this reader waits, and since when; -1 for none. */
    private long holePosition = -1;

    private long holeSinceNs;
    private long proofAfterNs;
    private boolean closed;

    LogReader(
            LiteLog log, Segments segments, Writers writers, LogSpec spec, long position, @Nullable Consumer consumer) {
        this.log = log;
        this.segments = segments;
        this.writers = writers;
        this.consumer = consumer;
        holeTimeoutNs = spec.holeTimeout().toNanos();
        set(position);
    }

    /** The position of the next transaction that this reader gives. */
    public long position() {
        return LogPosition.of(segment, slot, index);
    }

    /**
     * Continues at another position: one of the log's, or one that a reader gave.
     *
     * @throws LogPositionException if the position was cleaned, or its segment does not exist yet
     * @throws IllegalArgumentException if it is negative
     */
    public void seek(long position) {
        log.checkPosition(position);
        set(position);
    }

    private void set(long position) {
        segment = LogPosition.segment(position);
        slot = LogPosition.slot(position);
        index = LogPosition.index(position);
        window.clear();
        current = null;
        dataSegment = -1;
        walkedBytes = -1;
        holePosition = -1;
    }

    /**
     * Gives the entries of the transactions that are there, without waiting for more.
     *
     * @param transactionsMax at most so many transactions, at least 1
     * @return the number of transactions; 0 if there is none at the moment
     */
    public int poll(EntryHandler handler, int transactionsMax) {
        Objects.requireNonNull(handler, "handler");
        if (transactionsMax < 1) {
            throw new IllegalArgumentException(
                    "a poll of %d transactions; it must be at least 1".formatted(transactionsMax));
        }
        requireOpen();
        int given = 0;
        try {
            while (given < transactionsMax) {
                int more = pollSlot(handler, transactionsMax - given);
                if (more < 0) {
                    break;
                }
                given += more;
            }
        } catch (LmrFreedException e) {
            log.requireOpen();
            Segment source = current;
            set(position());
            if (segment < log.firstSegment()) {
                throw log.removed(position());
            }
            if (source != null) {
                segments.forgetIfFreed(source);
                current = segments.existing(segment); // throws if it is lost
            }
            throw e;
        } catch (SessionLostException e) {
            if (consumer != null) {
                consumer.requireHeld(); // Handles do not continue in the next session while a lost lock is not closed.
            }
            throw e;
        }
        return given;
    }

    /** Returns the number of transactions given from one slot, or -1 if the end of the log is reached. */
    private int pollSlot(EntryHandler handler, int transactionsMax) {
        Segment source = current;
        if (source == null || source.number != segment) {
            source = segments.existing(segment);
            current = source;
            if (source == null) {
                return -1;
            }
        }
        if (slot >= source.geometry.slots()) {
            nextSegment();
            return 0;
        }
        if (!window.contains(segment, slot)) {
            window.load(source, slot);
        }
        long word = window.word(slot);
        if (Segment.isCommitted(word)) {
            holePosition = -1;
            return give(source, word, handler, transactionsMax);
        }
        if (word == Segment.SEALED) {
            nextSlot();
            return 0;
        }
        if (word == Segment.END) {
            nextSegment();
            return 0;
        }
        if (word != 0) {
            if (wasTorn(source, word)) {
                return 0;
            }
            throw corrupted("the commit word is 0x%x".formatted(word));
        }
        window.clear(); // it may have changed
        return passHole(source) ? 0 : -1;
    }

    private void nextSlot() {
        slot++;
        index = 0;
        walkedBytes = -1;
        holePosition = -1;
    }

    private void nextSegment() {
        segment++;
        slot = 0;
        index = 0;
        walkedBytes = -1;
        holePosition = -1;
    }

    /** At a slot without a commit. Returns whether to continue at once. */
    private boolean passHole(Segment source) {
        long tail = source.tail();
        if (slot >= source.reservedSlots(tail)) {
            if (source.isFull(tail)) {
                nextSegment();
                return true;
            }
            holePosition = -1;
            return false;
        }
        long now = System.nanoTime();
        if (holePosition != position()) {
            holePosition = position();
            holeSinceNs = now;
            proofAfterNs = PROOF_NS_MIN;
            return false;
        }
        long waitedNs = now - holeSinceNs;
        if (!segments.isWritable() || (waitedNs < holeTimeoutNs && !isWriterProvenEnded(waitedNs))) {
            return false;
        }
        holePosition = -1;
        source.decide(slot, Segment.SEALED);
        return true; // reads the word again: the seal, or a commit that came first
    }

    /** Asks for a proof at growing intervals, and whether there is one. */
    private boolean isWriterProvenEnded(long waitedNs) {
        if (waitedNs < PROOF_NS_MIN) {
            return false;
        }
        if (waitedNs >= proofAfterNs) {
            proofAfterNs = 2 * waitedNs;
            writers.proveSoon();
        }
        return writers.isOpen(position());
    }

    private int give(Segment source, long word, EntryHandler handler, int transactionsMax) {
        if (!source.isInside(word)) {
            if (wasTorn(source, word)) {
                return 0;
            }
            throw corrupted("the commit word is 0x%x, outside of the data".formatted(word));
        }
        load(source, word);
        int start = (int) ((Segment.at(word) - dataFrom) * Segment.UNIT_BYTES);
        int end = start + (int) Segment.unitsOf(word) * Segment.UNIT_BYTES;
        if (walkedBytes < 0) {
            if (!isIntact(word, start, end) && !isIntactNow(source, word, start, end)) {
                return 0;
            }
            walkedBytes = 0;
            walked = 0;
        }
        int given = 0;
        for (int entry = start + walkedBytes; entry < end; ) {
            long head = memory.get(WORD, entry);
            int length = Frame.entryLength(head);
            boolean last = Frame.isLastOfTransaction(head);
            if (walked >= index) {
                handler.onEntry(
                        LogPosition.of(segment, slot, walked), memory, entry + Frame.ENTRY_HEAD_BYTES, length, last);
            }
            entry += (int) Frame.entryBytes(length);
            if (last) {
                walked++;
                walkedBytes = entry - start;
                if (walked > index) {
                    index = walked;
                    given++;
                    if (given == transactionsMax && entry < end) {
                        return given;
                    }
                }
            }
        }
        nextSlot();
        return given;
    }

    /** Brings the data of a slot into the buffer, and that of the committed slots behind it as far as there is room. */
    private void load(Segment source, long word) {
        long from = Segment.at(word);
        long to = from + Segment.unitsOf(word);
        if (dataSegment == segment && from >= dataFrom && to <= dataTo) {
            return;
        }
        dataSegment = -1;
        fitBuffer(Math.toIntExact((to - from) * Segment.UNIT_BYTES));
        long limit = from + buffer.capacity() / Segment.UNIT_BYTES;
        for (int next = slot + 1; window.contains(segment, next); next++) {
            long more = window.word(next);
            long end = Segment.at(more) + Segment.unitsOf(more);
            if (!Segment.isCommitted(more) || !source.isInside(more) || Segment.at(more) < to || end > limit) {
                break;
            }
            to = end;
        }
        source.read(from, memory.asSlice(0, (to - from) * Segment.UNIT_BYTES));
        dataSegment = segment;
        dataFrom = from;
        dataTo = to;
    }

    /** Makes room for a slot, and gives up the room of an earlier large one. */
    private void fitBuffer(int bytes) {
        smallReads = bytes > DATA_BYTES ? 0 : Math.min(smallReads + 1, SMALL_READS);
        boolean isUnused = buffer.capacity() > DATA_BYTES && smallReads == SMALL_READS;
        if (bytes > buffer.capacity() || isUnused) {
            buffer = ByteBuffer.allocateDirect(Math.max(bytes, DATA_BYTES));
            memory = MemorySegment.ofBuffer(buffer);
        }
    }

    /** Whether all entries of a slot are as they were written. */
    private boolean isIntact(long word, int start, int end) {
        int entry = start;
        boolean last = false;
        while (entry < end) {
            long head = memory.get(WORD, entry);
            int length = Frame.entryLength(head);
            if (entry + Frame.entryBytes(length) > end) {
                return false;
            }
            int checksum = Frame.checksum(crc, buffer, entry + Frame.ENTRY_HEAD_BYTES, length);
            if ((int) (head >>> 32) != Frame.expected(checksum, head, segment, Segment.at(word))) {
                return false;
            }
            last = Frame.isLastOfTransaction(head);
            entry += (int) Frame.entryBytes(length);
        }
        return last;
    }

    /** Reads the word of a slot again, by itself. If it was torn, the window has the word as it is. */
    private boolean wasTorn(Segment source, long read) {
        long word = source.word(slot);
        window.set(slot, word);
        return word != read;
    }

    /** Reads the word and the data of a slot again, each by itself. Returns false if the word was torn. */
    private boolean isIntactNow(Segment source, long word, int start, int end) {
        dataSegment = -1;
        if (wasTorn(source, word)) {
            return false;
        }
        source.read(Segment.at(word), memory.asSlice(start, end - start));
        if (!isIntact(word, start, end)) {
            throw corrupted("the checksum is wrong");
        }
        return true;
    }

    private LogCorruptedException corrupted(String what) {
        return new LogCorruptedException(
                position(), "%s of log \"%s\": %s".formatted(LogPosition.text(position()), log.name(), what));
    }

    /** Continues behind the slot of {@link #position}, for example after a {@link LogCorruptedException}. */
    public void skip() {
        requireOpen();
        set(LogPosition.of(segment, slot + 1, 0));
    }

    /**
     * Waits for the next transaction: polls for 50 µs, and then sleeps longer and longer, up to 10 ms at a time.
     *
     * @param timeout how long to wait; not negative
     * @return null if there was none in time, or the thread was interrupted
     */
    public @Nullable LogTransaction next(Duration timeout) {
        Collected collected = new Collected();
        return await(collected, 1, timeout) == 0
                ? null
                : new LogTransaction(collected.position, position(), collected.entries);
    }

    /**
     * {@link #poll}, which waits like {@link #next} until there is at least one transaction.
     *
     * @return 0 if there was none in time, or the thread was interrupted
     */
    public int await(EntryHandler handler, int transactionsMax, Duration timeout) {
        long timeoutNs = nanos(timeout);
        long startNs = System.nanoTime();
        long sleepNs = SLEEP_NS_MIN;
        while (true) {
            int given = poll(handler, transactionsMax);
            if (given > 0) {
                return given;
            }
            long waitedNs = System.nanoTime() - startNs;
            if (waitedNs >= timeoutNs || Thread.currentThread().isInterrupted()) {
                return 0;
            }
            if (waitedNs < SPIN_NS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(this, Math.min(sleepNs, timeoutNs - waitedNs));
                sleepNs = Math.min(SLEEP_NS_MAX, 2 * sleepNs);
            }
        }
    }

    private static long nanos(Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("the timeout is %s; it must not be negative".formatted(timeout));
        }
        return timeout.compareTo(Duration.ofDays(365)) > 0
                ? Duration.ofDays(365).toNanos()
                : timeout.toNanos();
    }

    /**
     * Stores the position under the consumer's name: the consumer continues here after a restart, and the cleaner may remove what is before
     * it.
     *
     * @throws IllegalStateException if this reader has no name
     * @throws ConsumerLostException if another process may have the name now
     */
    public void commit() {
        requireOpen();
        if (consumer == null) {
            throw new IllegalStateException(
                    "a reader of log \"%s\" without a name commits its position; use consumer".formatted(log.name()));
        }
        consumer.commit(position());
    }

    private void requireOpen() {
        if (closed) {
            throw new LogStateException("the reader of log \"%s\" is closed".formatted(log.name()));
        }
        log.requireOpen();
    }

    /** Releases the name. The position that was committed last stays in the log. A second call does nothing. */
    @Override
    public void close() {
        closed = true;
        if (consumer != null) {
            consumer.close();
        }
    }

    /** Copies one transaction. */
    private static final class Collected implements EntryHandler {
        private final List<MemorySegment> entries = new ArrayList<>();
        private long position;

        @Override
        public void onEntry(long at, MemorySegment memory, int offset, int length, boolean last) {
            position = at;
            entries.add(MemorySegment.ofArray(memory.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE)));
        }
    }
}
