package dev.lite.log;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.Lite;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrPermissionException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * An open log. Opened by {@link LiteLogs}.
 *
 * <p><b>Appending.</b> A transaction is one or more entries; readers see all of them or none. When {@code append} returns, the transaction
 * is in the log for ever, or until it is cleaned. Transactions that one thread appends one after the other keep their order. All readers
 * see the same order.
 *
 * <p><b>Threads.</b> Any thread may call any method. Readers belong to one thread at a time.
 *
 * <p><b>Deadlines.</b> An append waits for a node, for memory, for the directory, for other appends and for
 * the outcome of its commit up to the deadline of {@link LiteLogs}, in all: after that it begins nothing
 * more. Each operation on memory in it has the deadline of the session, so the last one may end later. If the
 * first one finds its node unreachable only at its deadline, the append begins once more.
 *
 * <p><b>Errors.</b> {@link AppendUncertainException} when the outcome of a commit stays unknown. Any other {@link LogException} or {@link
 * dev.lite.api.LiteException} of an append means that the transaction is not in the log. {@link LogStateException} when the log is
 * closed.
 */
public final class LiteLog implements AutoCloseable {
    private static final int SPARE_FRAME_BYTES_MAX = 1 << 20;
    /** Of all but one: those of 4,096 threads with small entries, or of 16 with the largest. */
    private static final int SPARES_BYTES_MAX = 16 << 20;

    private final Lite lite;
    private final CompletableFuture<String> ended;
    private final Metadata metadata;
    private final LogSpec spec;
    private final Segments segments;
    private final LogLocks locks;
    private final Consumers consumers;
    private final Writers writers;
    private final Appender appender;
    private final BatchAppender batches;
    private final long transactionBytesMax;
    /** Frames for appends: one that costs one exchange, and others for threads that append at the same time. */
    private final AtomicReference<@Nullable Frame> spare = new AtomicReference<>();

    private final ConcurrentLinkedQueue<Frame> spares = new ConcurrentLinkedQueue<>();
    private final AtomicInteger sparesBytes = new AtomicInteger();
    private final Object cleaning = new Object();

    @GuardedBy("cleaning")
    private @Nullable LogCleaner cleaner;

    private volatile boolean closed;

    LiteLog(
            Lite lite,
            CompletableFuture<String> ended,
            Metadata metadata,
            LogSpec spec,
            boolean writable,
            Duration deadline) {
        this.lite = lite;
        this.ended = ended;
        this.metadata = metadata;
        this.spec = spec;
        segments = new Segments(lite.memory(), metadata, spec, writable, deadline);
        locks = new LogLocks(lite.sync(), metadata.log, deadline);
        consumers = new Consumers(metadata, locks);
        writers = new Writers(lite, metadata, this::endPosition);
        appender = new Appender(ended, metadata.log, segments, writers, deadline, lite.deadline());
        transactionBytesMax = segments.geometry().transactionUnitsMax() * Segment.UNIT_BYTES;
        batches = new BatchAppender(metadata.log, appender, transactionBytesMax, deadline);
    }

    /** The log's name. */
    public String name() {
        return metadata.log;
    }

    /** The settings that are stored in the log. */
    public LogSpec spec() {
        return spec;
    }

    /** The largest transaction in bytes, where each entry counts with its length, rounded up to 8, and 8 more. */
    public long transactionBytesMax() {
        return transactionBytesMax;
    }

    /**
     * Appends a transaction of one entry.
     *
     * @return its position
     * @throws IllegalArgumentException if it is larger than {@link #transactionBytesMax}
     */
    public long append(MemorySegment entry) {
        checkSize(Frame.entryBytes(Objects.requireNonNull(entry, "entry").byteSize()));
        Frame frame = takeFrame();
        frame.add(entry);
        return commit(frame);
    }

    /** {@link #append(MemorySegment)}. */
    public long append(byte[] entry) {
        checkSize(Frame.entryBytes(Objects.requireNonNull(entry, "entry").length));
        Frame frame = takeFrame();
        frame.add(entry);
        return commit(frame);
    }

    /** Appends a transaction of these entries. */
    public long append(byte[] first, byte[]... more) {
        return append(segments(first, more));
    }

    /**
     * Appends a transaction.
     *
     * @param entries at least one
     * @return its position
     * @throws IllegalArgumentException if there is no entry, or they are larger than {@link #transactionBytesMax}
     */
    public long append(List<MemorySegment> entries) {
        checkSize(bytes(entries));
        Frame frame = takeFrame();
        for (MemorySegment entry : entries) {
            frame.add(entry);
        }
        return commit(frame);
    }

    private long commit(Frame frame) {
        frame.endTransaction();
        long position = appender.commit(frame);
        frame.clear();
        keep(frame);
        return position;
    }

    private void keep(Frame frame) {
        int bytes = frame.capacity();
        if (bytes > SPARE_FRAME_BYTES_MAX || spare.compareAndSet(null, frame)) {
            return;
        }
        if (sparesBytes.addAndGet(bytes) <= SPARES_BYTES_MAX) {
            spares.add(frame);
        } else {
            sparesBytes.addAndGet(-bytes);
        }
    }

    private Frame takeFrame() {
        requireOpen();
        if (!segments.isWritable()) {
            throw new LmrPermissionException(
                    "log \"%s\" is open for reading only: this principal has no permission to write".formatted(name()));
        }
        Frame frame = spare.getAndSet(null);
        if (frame == null) {
            frame = spares.poll();
            if (frame == null) {
                return new Frame();
            }
            sparesBytes.addAndGet(-frame.capacity());
        }
        return frame;
    }

    /**
     * Appends a transaction together with others that wait: they share a slot and one commit. The entries are copied before this
     * returns. Waits only while the batch is full.
     *
     * @param entries at least one
     * @return completes with the position, or with the exception that {@code append} would throw. Its dependents run on the thread that
     *     writes the batches, and must not block
     * @throws dev.lite.api.LiteTimeoutException if the batch stayed full until the deadline; nothing was appended
     * @throws IllegalArgumentException if there is no entry, or they are larger than {@link #transactionBytesMax}
     */
    public CompletableFuture<Long> appendAsync(List<MemorySegment> entries) {
        long bytes = bytes(entries);
        checkSize(bytes);
        requireOpen();
        if (!segments.isWritable()) {
            throw new LmrPermissionException(
                    "log \"%s\" is open for reading only: this principal has no permission to write".formatted(name()));
        }
        return batches.add(List.copyOf(entries), bytes);
    }

    /** {@link #appendAsync(List)}. */
    public CompletableFuture<Long> appendAsync(byte[] first, byte[]... more) {
        return appendAsync(segments(first, more));
    }

    private static List<MemorySegment> segments(byte[] first, byte[]... more) {
        MemorySegment[] entries = new MemorySegment[1 + Objects.requireNonNull(more, "more").length];
        entries[0] = MemorySegment.ofArray(Objects.requireNonNull(first, "first"));
        for (int index = 0; index < more.length; index++) {
            entries[index + 1] = MemorySegment.ofArray(Objects.requireNonNull(more[index], "more"));
        }
        return Arrays.asList(entries);
    }

    private static long bytes(List<MemorySegment> entries) {
        if (Objects.requireNonNull(entries, "entries").isEmpty()) {
            throw new IllegalArgumentException("a transaction without an entry; it must have at least 1");
        }
        long bytes = 0;
        for (MemorySegment entry : entries) {
            bytes += Frame.entryBytes(Objects.requireNonNull(entry, "entries").byteSize());
        }
        return bytes;
    }

    private void checkSize(long bytes) {
        if (bytes > transactionBytesMax) {
            throw new IllegalArgumentException(
                    "a transaction of %d bytes, with 8 for each entry; the limit of log \"%s\" is %d"
                            .formatted(bytes, name(), transactionBytesMax));
        }
    }

    /** The oldest position of the log: that of its first segment. */
    public long firstPosition() {
        requireOpen();
        return LogPosition.of(metadata.first(), 0, 0);
    }

    /** A position behind every transaction whose append has returned before this call. */
    public long endPosition() {
        requireOpen();
        long last = metadata.last();
        Segment segment = null;
        try {
            segment = segments.existing(last);
            return LogPosition.of(last, segment == null ? 0 : segment.reservedSlots(segment.tail()), 0);
        } catch (LogPositionException e) {
            return e.firstPosition(); // cleaned meanwhile, or lost
        } catch (LmrFreedException e) {
            if (segment == null) {
                throw e;
            }
            segments.forgetIfFreed(segment);
            return endPosition();
        }
    }

    /**
     * A reader that begins at a position. Nothing in the log keeps what it has not read.
     *
     * @throws LogPositionException if the position was cleaned, or its segment does not exist yet
     * @throws IllegalArgumentException if it is negative
     */
    public LogReader reader(long position) {
        checkPosition(position);
        return new LogReader(this, segments, writers, spec, position, null);
    }

    /**
     * A reader that keeps its position in the log under a name: it begins where {@link LogReader#commit} was called last. The cleaner keeps
     * what it needs. One process at a time may use a name; this waits for it up to the deadline.
     *
     * @param name at most 128 bytes of UTF-8
     * @param start where it begins if the log does not know the name; not used otherwise
     * @throws LogPositionException if the log does not know the name, and the start was cleaned or its segment does not exist yet
     * @throws dev.lite.api.LiteTimeoutException if another reader uses the name
     * @throws dev.lite.api.LimitExceededException if the log has 256 consumers
     * @throws dev.lite.api.LmrPermissionException if this principal may not write to the log
     */
    public LogReader consumer(String name, long start) {
        Consumers.checkName(name);
        LogPosition.check(start);
        requireOpen();
        Consumer consumer = consumers.open(name, start, this::checkPosition);
        return new LogReader(this, segments, writers, spec, consumer.start(), consumer);
    }

    /**
     * Removes a consumer's position. Waits until no process uses it, up to the deadline.
     *
     * @return whether there was one
     */
    public boolean removeConsumer(String name) {
        Consumers.checkName(name);
        requireOpen();
        return consumers.remove(name);
    }

    void checkPosition(long position) {
        LogPosition.check(position);
        requireOpen();
        if (LogPosition.segment(position) < metadata.first()) {
            throw removed(position);
        }
        if (LogPosition.segment(position) > metadata.last() + 1) {
            throw new LogPositionException(
                    firstPosition(),
                    "the position %s is behind the end of log \"%s\", segment %d"
                            .formatted(LogPosition.text(position), name(), metadata.last()));
        }
    }

    LogPositionException removed(long position) {
        return metadata.removed(position);
    }

    String segmentName(long number) {
        return metadata.segmentName(number);
    }

    long firstSegment() {
        return metadata.first();
    }

    boolean isClosed() {
        return closed;
    }

    void requireOpen() {
        if (closed) {
            throw new LogStateException("the log \"%s\" is closed".formatted(name()));
        }
    }

    /** Starts a cleaner, if this object has none that runs. It ends with this object; closing it earlier is allowed. */
    public LogCleaner startCleaner() {
        requireOpen();
        synchronized (cleaning) {
            LogCleaner started = cleaner;
            if (started == null || started.hasEnded()) {
                started = new LogCleaner(metadata, lite.memory(), ended, locks, spec, consumers);
                started.start();
                cleaner = started;
            }
            return started;
        }
    }

    /** Makes the first segment, so that the log can be read. */
    void prepare() {
        segments.successor(null, 0);
    }

    /** Writes what {@link #appendAsync} has taken, and unmaps the log. The log stays. A second call does nothing. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        batches.close();
        writers.openHolesLeft();
        closed = true;
        synchronized (cleaning) {
            if (cleaner != null) {
                cleaner.close();
            }
        }
        segments.close();
        writers.close();
        Segments.unmap(metadata.handle);
    }
}
