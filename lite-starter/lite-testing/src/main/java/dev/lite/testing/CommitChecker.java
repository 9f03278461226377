package dev.lite.testing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Knows every acknowledged commit of a log, and what each reader saw: none lost, none twice, the order of each writer kept, whole
 * transactions, and the same for all readers. Any thread acknowledges and refuses; each copy belongs to one reader.
 */
public final class CommitChecker {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final int HEAD_BYTES = 16;
    private static final int ENTRIES_MAX = 5;
    private static final int TAIL_BYTES_MAX = 37;

    /** The positions of acknowledged transactions. */
    private final ConcurrentMap<Id, Long> acknowledged = new ConcurrentHashMap<>();
    /** Transactions whose writers were told that they are not in the log. */
    private final Set<Id> refused = ConcurrentHashMap.newKeySet();

    private final List<Copy> copies = new CopyOnWriteArrayList<>();

    /** The sequence of a writer's transactions begins at 0. */
    private record Id(int writer, int sequence) {}

    private record Seen(Id id, long position) {}

    /**
     * The entries of a transaction: 1 to 5, each with the writer, the sequence, its number, their count, and bytes that follow from
     * them.
     */
    public static List<MemorySegment> transaction(int writer, int sequence) {
        int count = 1 + (sequence + writer) % ENTRIES_MAX;
        List<MemorySegment> entries = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            byte[] entry = new byte[HEAD_BYTES + sequence % TAIL_BYTES_MAX];
            MemorySegment memory = MemorySegment.ofArray(entry);
            memory.set(LONG, 0, (long) writer << 32 | sequence);
            memory.set(LONG, Long.BYTES, (long) number << 32 | count);
            for (int at = HEAD_BYTES; at < entry.length; at++) {
                entry[at] = (byte) (at * sequence + writer);
            }
            entries.add(memory);
        }
        return entries;
    }

    /** The writer was told that its transaction is in the log. */
    public void acknowledge(int writer, int sequence, long position) {
        require(
                acknowledged.put(new Id(writer, sequence), position) == null,
                "%d/%d was acknowledged twice",
                writer,
                sequence);
    }

    /** The writer was told that its transaction is not in the log. */
    public void refuse(int writer, int sequence) {
        refused.add(new Id(writer, sequence));
    }

    /** The number of acknowledged transactions. */
    public int acknowledgedCount() {
        return acknowledged.size();
    }

    /** The copy of a new reader. */
    public Copy copy() {
        Copy copy = new Copy();
        copies.add(copy);
        return copy;
    }

    /** What one reader saw. One thread, except for the count. */
    public static final class Copy {
        private final List<Seen> seen = new ArrayList<>();
        private int next;
        private volatile int count;

        private Copy() {}

        /**
         * Checks and keeps an entry.
         *
         * @param memory contains the entry
         * @param last whether it is its transaction's last one
         */
        public void add(long position, MemorySegment memory, int offset, int length, boolean last) {
            long id = memory.get(LONG, offset);
            int number = (int) (memory.get(LONG, (long) offset + Long.BYTES) >>> 32);
            int entries = (int) memory.get(LONG, (long) offset + Long.BYTES);
            int writer = (int) (id >>> 32);
            int sequence = (int) id;
            require(number == next, "entry %d of %d/%d came after %d entries", number, writer, sequence, next);
            require(last == (number == entries - 1), "entry %d of %d/%d has the wrong mark", number, writer, sequence);
            require(length == HEAD_BYTES + sequence % TAIL_BYTES_MAX, "%d/%d has %d bytes", writer, sequence, length);
            for (int at = HEAD_BYTES; at < length; at++) {
                byte expected = (byte) (at * sequence + writer);
                require(
                        memory.get(ValueLayout.JAVA_BYTE, (long) offset + at) == expected,
                        "byte %d of %d/%d is wrong",
                        at,
                        writer,
                        sequence);
            }
            next = last ? 0 : number + 1;
            if (last) {
                seen.add(new Seen(new Id(writer, sequence), position));
                count = seen.size();
            }
        }

        /** The number of transactions. */
        public int count() {
            return count;
        }
    }

    /**
     * Checks everything. The readers must have come to the end.
     *
     * @throws AssertionError with the first violation
     */
    public void check() {
        Copy first = copies.getFirst();
        for (Copy copy : copies) {
            require(copy.seen.size() == first.seen.size(), "one reader saw %d, another %d", first.count, copy.count);
            for (int index = 0; index < copy.seen.size(); index++) {
                Seen one = first.seen.get(index);
                Seen other = copy.seen.get(index);
                require(
                        one.equals(other),
                        "transaction %d is %s for one reader, and %s for another",
                        index,
                        one,
                        other);
            }
        }
        Map<Id, Long> positions = new HashMap<>();
        Map<Integer, Integer> lastOf = new HashMap<>();
        long lastPosition = -1;
        for (Seen each : first.seen) {
            require(positions.put(each.id, each.position) == null, "%s is in the log twice", each.id);
            Integer before = lastOf.put(each.id.writer, each.id.sequence);
            require(before == null || before < each.id.sequence, "%s comes after number %s", each.id, before);
            require(each.position > lastPosition, "%s is at %d, after %d", each.id, each.position, lastPosition);
            lastPosition = each.position;
            require(!refused.contains(each.id), "%s was refused, and is in the log", each.id);
        }
        acknowledged.forEach((id, position) -> require(
                position.equals(positions.get(id)),
                "%s was acknowledged at %d, and is at %s",
                id,
                position,
                positions.get(id)));
    }

    /** Without the annotation for formats, which is in a library: this module uses only the JDK. */
    @SuppressWarnings("AnnotateFormatMethod")
    private static void require(boolean condition, String message, @Nullable Object... values) {
        if (!condition) {
            throw new AssertionError(message.formatted(values));
        }
    }
}
