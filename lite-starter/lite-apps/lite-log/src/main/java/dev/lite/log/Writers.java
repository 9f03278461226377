package dev.lite.log;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The writers of a log, and the proof that one has ended. Each writer owns a <em>mark</em>: an anonymous LMR, which its node frees when
 * the session ends, however it ends. The table in the metadata has for each writer the id of its mark, and its node.
 *
 * <p>Nobody knows which writer left a hole. So a proof opens all holes: slots that were reserved before it may be sealed without waiting
 * for the timeout. If one of them belongs to a writer that lives, that writer finds the seal and appends again.
 *
 * <p>A proof only saves time, since the seal is a test-set. So no failure here fails an append, unless it
 * took the whole deadline. Any thread.
 */
final class Writers implements AutoCloseable {
    /** Further writers are not registered: their holes are passed after the timeout. */
    static final int COUNT_MAX = 256;

    static final int BYTES = COUNT_MAX * Row.BYTES;

    private final Lite lite;
    private final Metadata metadata;
    private final LongSupplier end;
    private final AtomicBoolean proving = new AtomicBoolean();
    /** The appends that have left holes since holes were opened last; above 0, a thread opens them. */
    private final AtomicInteger holesLeft = new AtomicInteger();

    private volatile @Nullable Mark mark;

    private final ReentrantLock registering = new ReentrantLock();

    @GuardedBy("registering")
    private boolean closed;

    /**
     * A row of the table.
     *
     * @param offset in the metadata
     * @param mark the id of the mark; 0 if the row is free
     * @param node the id of the writer's node, and 1; 0 if it is not known; of no meaning if the row is free
     */
    private record Row(long offset, long mark, long node) {
        static final int BYTES = 16;
        static final int NODE_AT = 8;
    }

    /** The mark of this process, and its row. */
    private record Mark(LmrHandle handle, long row, String node) {}

    /** @param end gives a position behind everything that is reserved */
    Writers(Lite lite, Metadata metadata, LongSupplier end) {
        this.lite = lite;
        this.metadata = metadata;
        this.end = end;
    }

    /**
     * Registers this process as a writer, if it is not, or its session was lost since. Appends call it now
     * and then.
     *
     * @return why it could not: the next check tries again, and until then the timeout of holes remains. Null
     *     if it could
     */
    @Nullable
    LiteException check() {
        try {
            Mark known = mark;
            if (known == null || hasEnded(known)) {
                register(known);
            }
            return null;
        } catch (LiteException e) {
            return e;
        }
    }

    private boolean hasEnded(Mark known) {
        if (!lite.nodeName().equals(known.node)) {
            return true;
        }
        try {
            return known.handle.getLong(0) != 0; // it stays 0
        } catch (LmrFreedException e) {
            return true;
        }
    }

    /** Another thread that registers is not waited for: it may wait for a node. */
    private void register(@Nullable Mark ended) {
        if (!registering.tryLock()) {
            return;
        }
        try {
            if (closed || !Objects.equals(mark, ended)) {
                return;
            }
            if (ended != null) {
                openHoles();
                release(ended.row, ended.handle.id());
                mark = null;
            }
            mark = newMark();
            if (mark == null) {
                proveSoon(); // frees the rows of writers that have ended
            }
        } finally {
            registering.unlock();
        }
    }

    /** {@link #openHoles}, on a thread of its own: the append is in the log, and must not wait for a node any more. */
    void openHolesSoon() {
        if (holesLeft.getAndIncrement() != 0) {
            return;
        }
        boolean started = false;
        try {
            Thread.ofVirtual().name("lite-log holes of " + metadata.log).start(this::openHolesUntilNoneIsLeft);
            started = true;
        } catch (OutOfMemoryError e) {
            // The append is in the log. Its hole opens with the next one, or after its timeout.
        } finally {
            if (!started) {
                holesLeft.set(0);
            }
        }
    }

    private void openHolesUntilNoneIsLeft() {
        try {
            int left;
            do {
                left = holesLeft.get(); // a later one may be behind the end that this thread reads
                openHoles();
            } while (!holesLeft.compareAndSet(left, 0));
        } catch (RuntimeException | Error e) {
            holesLeft.set(0); // or no append would start a thread again
            throw e;
        }
    }

    /** Opens the holes that {@link #openHolesSoon} has not opened yet. All appends have ended. */
    void openHolesLeft() {
        if (holesLeft.get() > 0) {
            openHoles();
        }
    }

    /** Opens the holes that this process left, because it got no answer to a reservation. */
    private void openHoles() {
        try {
            metadata.advanceSealBelow(end.getAsLong());
        } catch (LiteException | LogException e) {
            // They stay until the timeout.
        }
    }

    /** Returns null if all rows are in use. */
    private @Nullable Mark newMark() {
        String node = lite.nodeName();
        LmrHandle handle = lite.memory().malloc(LmrSpec.of(Long.BYTES).withDefaultPermissions(Permission.READ));
        boolean registered = false;
        try {
            for (Row row : rows()) {
                if (row.mark == 0 && metadata.handle.testSet(row.offset, 0, handle.id()) == 0) {
                    metadata.handle.putLong(row.offset + Row.NODE_AT, nodeId(node) + 1L);
                    registered = true;
                    return new Mark(handle, row.offset, node);
                }
            }
            return null;
        } finally {
            if (!registered) {
                handle.free(); // then a row that has it belongs to no living writer, and a proof frees it
            }
        }
    }

    private int nodeId(String name) {
        return lite.nodes().stream()
                .filter(node -> node.name().equals(name))
                .mapToInt(NodeInfo::id)
                .findFirst()
                .orElse(-1);
    }

    /** {@link #prove}, on a thread of its own, because a node that does not answer takes a while. */
    void proveSoon() {
        if (proving.compareAndSet(false, true)) {
            Thread.ofVirtual().name("lite-log writers of " + metadata.log).start(() -> {
                try {
                    prove();
                } catch (LiteException | LogException e) {
                    // Nothing is proven. The reader asks again.
                } finally {
                    proving.set(false);
                }
            });
        }
    }

    /** Finds writers that have ended, and opens the holes that they may have left. */
    private void prove() {
        List<Row> ended = new ArrayList<>();
        for (Row row : rows()) {
            if (row.mark != 0 && hasEnded(row)) {
                ended.add(row);
            }
        }
        if (!ended.isEmpty()) {
            metadata.advanceSealBelow(end.getAsLong()); // after the proof, so all that they reserved is before it
            ended.forEach(row -> release(row.offset, row.mark));
        }
    }

    private boolean hasEnded(Row row) {
        try {
            lite.memory().map(row.mark, Permission.READ).unmap();
            return false;
        } catch (LmrNotFoundException e) {
            return true;
        } catch (LiteException e) {
            return row.node != 0 && lite.nodes().stream().noneMatch(node -> node.id() + 1L == row.node);
        }
    }

    /** Whether the writer of this slot, or another one that may have reserved it, is proven to have ended. */
    boolean isOpen(long position) {
        return position < metadata.sealBelow();
    }

    /** Ids are never used twice, so this releases no other writer's row. The next writer replaces the node. */
    private void release(long row, long id) {
        metadata.handle.testSet(row, id, 0);
    }

    private List<Row> rows() {
        byte[] table = new byte[BYTES];
        metadata.handle.read(Metadata.WRITERS_AT, table);
        MemorySegment memory = MemorySegment.ofArray(table);
        List<Row> rows = new ArrayList<>(COUNT_MAX);
        for (int at = 0; at < BYTES; at += Row.BYTES) {
            long id = memory.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
            long node = memory.get(ValueLayout.JAVA_LONG_UNALIGNED, at + Row.NODE_AT);
            rows.add(new Row(Metadata.WRITERS_AT + at, id, node));
        }
        return rows;
    }

    /** Appends of this process have ended. */
    @Override
    public void close() {
        registering.lock();
        try {
            closed = true;
            Mark known = mark;
            mark = null;
            if (known != null) {
                release(known.row, known.handle.id());
                known.handle.free();
            }
        } catch (LiteException e) {
            // The session has ended, or the log was deleted: the mark ends with the session.
        } finally {
            registering.unlock();
        }
    }
}
