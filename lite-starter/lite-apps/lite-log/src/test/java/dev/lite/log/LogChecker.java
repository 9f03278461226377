package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Knows every acknowledged commit, and what each reader saw: none lost, none twice, the order of each writer kept, whole transactions,
 * and the same for all readers. Any thread acknowledges; each copy belongs to one reader.
 */
final class LogChecker {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

    /** The positions of acknowledged transactions, by writer and sequence. */
    private final ConcurrentMap<Id, Long> acknowledged = new ConcurrentHashMap<>();

    private final List<Copy> copies = new CopyOnWriteArrayList<>();

    /** A transaction. */
    record Id(int writer, int sequence) {}

    /** A transaction as it was read. */
    record Seen(Id id, long position) {}

    /** The entries of a transaction: 1 to 5, each with writer, sequence, its number, their count, and bytes that follow from them. */
    static List<MemorySegment> transaction(int writer, int sequence) {
        int count = 1 + (sequence + writer) % 5;
        List<MemorySegment> entries = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            byte[] entry = new byte[16 + sequence % 37];
            MemorySegment memory = MemorySegment.ofArray(entry);
            memory.set(LONG, 0, (long) writer << 32 | sequence);
            memory.set(LONG, 8, (long) number << 32 | count);
            for (int at = 16; at < entry.length; at++) {
                entry[at] = (byte) (at * sequence + writer);
            }
            entries.add(memory);
        }
        return entries;
    }

    void acknowledged(int writer, int sequence, long position) {
        Long before = acknowledged.put(new Id(writer, sequence), position);
        assertThat(before)
                .as("a second acknowledgement of %d/%d", writer, sequence)
                .isNull();
    }

    int acknowledgedCount() {
        return acknowledged.size();
    }

    /** A new reader's copy. */
    Copy copy() {
        Copy copy = new Copy();
        copies.add(copy);
        return copy;
    }

    /** What one reader saw. */
    static final class Copy implements EntryHandler {
        private final List<Seen> seen = new ArrayList<>();
        private int next;

        @Override
        public void onEntry(long position, MemorySegment memory, int offset, int length, boolean last) {
            long id = memory.get(LONG, offset);
            int number = (int) (memory.get(LONG, offset + 8L) >>> 32);
            int count = (int) memory.get(LONG, offset + 8L);
            int writer = (int) (id >>> 32);
            int sequence = (int) id;
            assertThat(number).as("the number of an entry").isEqualTo(next);
            assertThat(last).as("the last of %d entries", count).isEqualTo(number == count - 1);
            assertThat(length).isEqualTo(16 + sequence % 37);
            for (int at = 16; at < length; at++) {
                if (memory.get(ValueLayout.JAVA_BYTE, (long) offset + at) != (byte) (at * sequence + writer)) {
                    throw new AssertionError("byte %d of %d/%d".formatted(at, writer, sequence));
                }
            }
            next = last ? 0 : number + 1;
            if (last) {
                seen.add(new Seen(new Id(writer, sequence), position));
            }
        }

        int count() {
            return seen.size();
        }
    }

    void check() {
        Copy first = copies.getFirst();
        for (Copy copy : copies) {
            assertThat(copy.seen.equals(first.seen)).as("all readers agree").isTrue();
        }
        Map<Id, Long> positions = new HashMap<>();
        Map<Integer, Integer> lastOf = new HashMap<>();
        for (Seen each : first.seen) {
            assertThat(positions.put(each.id, each.position))
                    .as("%s twice", each.id)
                    .isNull();
            Integer before = lastOf.put(each.id.writer, each.id.sequence);
            assertThat(before == null || before < each.id.sequence)
                    .as("%s after %s", each.id, before)
                    .isTrue();
        }
        acknowledged.forEach((id, position) ->
                assertThat(positions.get(id)).as("acknowledged %s", id).isEqualTo(position));
    }
}
