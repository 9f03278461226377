package dev.lite.mr.data;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Pairs in one array: {@code hash, key length, value length, key, value}. With a combiner, a hash table finds the pair of a key, and there
 * is one for each; without, pairs are only appended. One thread.
 */
public final class Table {
    private static final int HEAD = 3 * Integer.BYTES;
    private static final int BYTES_FIRST = 64 << 10;
    /** An array's index is an int; a task emits at most this. */
    private static final int BYTES_MAX = 1 << 30;
    /** The longest array that stays from job to job: copying live arrays is what makes a garbage collection take long. */
    private static final int BYTES_KEPT_MAX = 32 << 20;

    private static final int SLOTS_FIRST = 1024;
    /** Half of the slots go if fewer than one in so many was used. */
    private static final int SLOTS_USED_MIN = 16;

    private static final byte[] NOTHING = {};

    /** How many pairs are looked up together. */
    private static final int AHEAD = 64;

    private @Nullable Combiner combiner;
    private final Slice accumulated = new Slice();
    private final Slice given = new Slice();
    private final byte[] number = new byte[Long.BYTES];
    private byte[] data = new byte[BYTES_FIRST];
    private int used;
    private int count;
    /** The hash in the upper half, the place of the pair + 1 in the lower; 0 for none. At most half full. */
    private long[] slots;

    private final long[] ahead = new long[AHEAD];
    /** The number of pairs that {@link #defer} took; the next fields have them. */
    private int deferred;

    private byte[] deferredArray = NOTHING;
    private final int[] hashes = new int[AHEAD];
    private final int[] offsets = new int[AHEAD];
    private final int[] lengths = new int[AHEAD];
    private final long[] values = new long[AHEAD];
    /** Keeps the reads of {@link #touch} from being optimized away. */
    @SuppressWarnings("UnusedVariable")
    private int touched;

    /** Creates an empty table, without a combiner if it is null. */
    public Table(@Nullable Combiner combiner) {
        this.combiner = combiner;
        slots = new long[SLOTS_FIRST];
    }

    /** Removes all pairs, and takes the combiner of another job. Keeps up to twice {@value #BYTES_KEPT_MAX} bytes of heap for it. */
    public void begin(@Nullable Combiner newCombiner) {
        combiner = newCombiner;
        if (data.length > BYTES_KEPT_MAX) {
            data = new byte[BYTES_FIRST];
        }
        if (slots.length > BYTES_KEPT_MAX / Long.BYTES) {
            slots = new long[SLOTS_FIRST];
        }
        clear();
    }

    /** The bytes that the pairs take. */
    public int bytes() {
        return used;
    }

    /** The number of pairs. */
    public int count() {
        return count;
    }

    /** Removes all pairs. Gives up slots that the next pairs will probably not need: clearing them takes time. */
    public void clear() {
        if (slots.length > SLOTS_FIRST && count > 0 && count < slots.length / SLOTS_USED_MIN) {
            slots = new long[slots.length / 2];
        }
        used = 0;
        count = 0;
        deferred = 0;
        deferredArray = NOTHING;
        Arrays.fill(slots, 0);
    }

    /** Adds a pair with a number. */
    public void add(byte[] array, int keyOffset, int keyLength, long value) {
        checkKey(keyLength);
        add(Bytes.hash(array, keyOffset, keyLength), array, keyOffset, keyLength, value);
    }

    /**
     * Adds a pair with a number, at the next {@link #addDeferred} at the latest. Until then the bytes of the key must stay as they are, and
     * all deferred keys must be in one array. Deferred pairs are looked up together, so that the processor fetches several cache lines at a
     * time. Without a combiner nothing is looked up, nor deferred.
     */
    public void defer(byte[] array, int keyOffset, int keyLength, long value) {
        if (combiner == null) {
            add(array, keyOffset, keyLength, value);
            return;
        }
        checkKey(keyLength);
        if (deferred == AHEAD) {
            addDeferred();
        }
        int index = deferred;
        deferredArray = array;
        hashes[index] = Bytes.hash(array, keyOffset, keyLength);
        offsets[index] = keyOffset;
        lengths[index] = keyLength;
        values[index] = value;
        deferred = index + 1;
    }

    /** Adds what was deferred. */
    public void addDeferred() {
        int pairs = deferred;
        deferred = 0;
        int mask = slots.length - 1;
        for (int i = 0; i < pairs; i++) {
            ahead[i] = slots[hashes[i] & mask];
        }
        touch(pairs);
        for (int i = 0; i < pairs; i++) {
            add(hashes[i], deferredArray, offsets[i], lengths[i], values[i]);
        }
    }

    private void add(int hash, byte[] array, int keyOffset, int keyLength, long value) {
        if (combiner != Combiner.SUM) {
            Bytes.LONG.set(number, 0, value);
            add(hash, array, keyOffset, keyLength, number, 0, Long.BYTES);
            return;
        }
        int slot = find(hash, array, keyOffset, keyLength);
        if (slots[slot] == 0) {
            Bytes.LONG.set(number, 0, value);
            insert(slot, hash, array, keyOffset, keyLength, number, 0, Long.BYTES);
            return;
        }
        int pair = (int) slots[slot] - 1;
        checkLength((int) Bytes.INT.get(data, pair + 2 * Integer.BYTES), Long.BYTES);
        int at = pair + HEAD + keyLength;
        Bytes.LONG.set(data, at, (long) Bytes.LONG.get(data, at) + value);
    }

    /** Adds a pair. */
    public void add(byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
        checkKey(keyLength);
        checkValue(valueLength);
        add(Bytes.hash(key, keyOffset, keyLength), key, keyOffset, keyLength, value, valueOffset, valueLength);
    }

    private void add(
            int hash, byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
        if (combiner == null) {
            append(hash, key, keyOffset, keyLength, value, valueOffset, valueLength);
            return;
        }
        int slot = find(hash, key, keyOffset, keyLength);
        if (slots[slot] == 0) {
            insert(slot, hash, key, keyOffset, keyLength, value, valueOffset, valueLength);
        } else {
            combine((int) slots[slot] - 1, keyLength, value, valueOffset, valueLength);
        }
    }

    /** Adds all pairs of another table of the same job. */
    public void addAll(Table other) {
        if (combiner == null) {
            ensure(used + other.used);
            System.arraycopy(other.data, 0, data, used, other.used);
            used += other.used;
            count += other.count;
            return;
        }
        int at = 0;
        while (at < other.used) {
            int end = touch(other, at);
            for (; at < end; at = other.after(at)) {
                int key = other.keyLength(at);
                int value = at + HEAD + key;
                int hash = (int) Bytes.INT.get(other.data, at);
                add(hash, other.data, at + HEAD, key, other.data, value, other.valueLength(at));
            }
        }
    }

    /**
     * Reads what adding the next pairs of the other table will read. Returns where these end.
     */
    private int touch(Table other, int start) {
        int mask = slots.length - 1;
        int pairs = 0;
        int at = start;
        for (; pairs < AHEAD && at < other.used; at = other.after(at)) {
            ahead[pairs++] = slots[(int) Bytes.INT.get(other.data, at) & mask];
        }
        touch(pairs);
        return at;
    }

    /** Reads the pairs behind {@link #ahead}. These reads do not depend on each other, so the processor fetches several cache lines at a time. */
    private void touch(int pairs) {
        int sum = 0;
        for (int i = 0; i < pairs; i++) {
            sum += data[Math.max(0, (int) ahead[i] - 1) + HEAD]; // the first pair stands for none, without a branch
        }
        touched += sum;
    }

    private void combine(int pair, int keyLength, byte[] array, int value, int valueLength) {
        checkLength((int) Bytes.INT.get(data, pair + 2 * Integer.BYTES), valueLength);
        if (combiner != null) {
            combiner.combine(
                    accumulated.set(data, pair + HEAD + keyLength, valueLength), given.set(array, value, valueLength));
        }
    }

    static void checkValue(int length) {
        if (length > Emitter.VALUE_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "the value has %d bytes; the limit is %d".formatted(length, Emitter.VALUE_BYTES_MAX));
        }
    }

    private static void checkKey(int length) {
        if (length > Emitter.KEY_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "the key has %d bytes; the limit is %d".formatted(length, Emitter.KEY_BYTES_MAX));
        }
    }

    private static void checkLength(int before, int now) {
        if (before != now) {
            throw new IllegalArgumentException(
                    "the combiner got values of %d and %d bytes for one key; they must have one length"
                            .formatted(before, now));
        }
    }

    private int find(int hash, byte[] key, int offset, int length) {
        int mask = slots.length - 1;
        int slot = hash & mask;
        while (true) {
            long found = slots[slot];
            if (found == 0) {
                return slot;
            }
            if ((int) (found >>> 32) == hash) {
                int at = (int) found - 1;
                if (keyLength(at) == length && Bytes.isEqual(data, at + HEAD, key, offset, length)) {
                    return slot;
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    private void insert(
            int slot,
            int hash,
            byte[] key,
            int keyOffset,
            int keyLength,
            byte[] value,
            int valueOffset,
            int valueLength) {
        int at = append(hash, key, keyOffset, keyLength, value, valueOffset, valueLength);
        slots[slot] = ((long) hash << 32) | (at + 1);
        if (count * 2 > slots.length) {
            long[] former = slots;
            slots = new long[former.length * 2];
            int mask = slots.length - 1;
            for (long entry : former) {
                if (entry != 0) {
                    int place = (int) (entry >>> 32) & mask;
                    while (slots[place] != 0) {
                        place = (place + 1) & mask;
                    }
                    slots[place] = entry;
                }
            }
        }
    }

    private int append(
            int hash, byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
        int at = used;
        int end = at + HEAD + keyLength + valueLength;
        ensure(end);
        Bytes.INT.set(data, at, hash);
        Bytes.INT.set(data, at + Integer.BYTES, keyLength);
        Bytes.INT.set(data, at + 2 * Integer.BYTES, valueLength);
        Bytes.copy(key, keyOffset, data, at + HEAD, keyLength);
        Bytes.copy(value, valueOffset, data, at + HEAD + keyLength, valueLength);
        used = end;
        count++;
        return at;
    }

    private void ensure(int end) {
        if (end < 0 || end > BYTES_MAX) {
            throw new IllegalArgumentException(
                    "one task emitted more than %d bytes; use smaller splits".formatted(BYTES_MAX));
        }
        if (end > data.length) {
            data = Arrays.copyOf(data, Math.min(BYTES_MAX, Math.max(end, data.length * 2)));
        }
    }

    private int keyLength(int at) {
        return (int) Bytes.INT.get(data, at + Integer.BYTES);
    }

    private int valueLength(int at) {
        return (int) Bytes.INT.get(data, at + 2 * Integer.BYTES);
    }

    private int after(int at) {
        return at + HEAD + keyLength(at) + valueLength(at);
    }

    /** Takes the pairs of one partition, in the order of their keys. */
    @FunctionalInterface
    public interface Sink {
        /** Takes a pair; the slices are valid during the call. */
        void add(Slice key, Slice value);
    }

    /** Gives the sink of a partition. */
    @FunctionalInterface
    public interface Sinks {
        /** Called once for each partition that has pairs, before its first pair. */
        Sink partition(int number);
    }

    /** Passes all pairs on, partition by partition, each in the order of its keys. */
    public void drain(Job job, int partitions, Sinks sinks) {
        int[] places = new int[count];
        int[] starts = new int[partitions + 1];
        byte[] partition = new byte[count]; // at most 256 of them
        Slice key = new Slice();
        Slice value = new Slice();
        int index = 0;
        for (int at = 0; at < used; at = after(at)) {
            int number =
                    job.partition(key.set(data, at + HEAD, keyLength(at)), (int) Bytes.INT.get(data, at), partitions);
            if (number < 0 || number >= partitions) {
                throw new IllegalArgumentException("the job put the key \"%s\" into partition %d; there are %d"
                        .formatted(key, number, partitions));
            }
            partition[index] = (byte) number;
            places[index++] = at;
            starts[number + 1]++;
        }
        for (int i = 0; i < partitions; i++) {
            starts[i + 1] += starts[i];
        }
        int[] order = new int[count];
        int[] next = starts.clone();
        for (int i = 0; i < count; i++) {
            order[next[partition[i] & 0xff]++] = places[i];
        }
        PairSort sort = new PairSort(data, HEAD, job);
        for (int number = 0; number < partitions; number++) {
            if (starts[number] == starts[number + 1]) {
                continue;
            }
            Sink sink = sinks.partition(number);
            int[] sorted = sort.sort(Arrays.copyOfRange(order, starts[number], starts[number + 1]));
            for (int at : sorted) {
                int length = keyLength(at);
                sink.add(key.set(data, at + HEAD, length), value.set(data, at + HEAD + length, valueLength(at)));
            }
        }
    }
}
