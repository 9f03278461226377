package dev.lite.mr.data;

import dev.lite.api.LtMemory;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import dev.lite.mr.job.Values;
import java.util.ArrayList;
import java.util.List;

/**
 * The pairs of several runs in one order; equal keys in the order of their runs. Read pair by pair with {@link #next}, or key by key with
 * {@link #nextKey}. One thread.
 */
public final class Merge implements Values {
    private static final int KEY_FIRST = 64;

    private final Job job;
    private final boolean bytewise;
    /** A heap: no reader's key is less than that of its parent, at half its index. */
    private final List<Source> heap = new ArrayList<>();

    private boolean begun;
    private byte[] keyCopy = new byte[KEY_FIRST];
    private final Slice groupKey = new Slice();
    private boolean groupBegun;

    private final class Source {
        private final RunReader reader;
        private final int number;
        /** Of the current key. */
        private long prefix;

        Source(RunReader reader, int number) {
            this.reader = reader;
            this.number = number;
        }

        boolean next() {
            boolean found = reader.next();
            if (found && bytewise) {
                Slice key = reader.key();
                prefix = Bytes.prefix(key.array(), key.offset(), key.length());
            }
            return found;
        }
    }

    /** Opens the runs, and reads the first piece of each. */
    public Merge(LtMemory memory, Job job, List<Run> runs) {
        this.job = job;
        bytewise = job.isBytewise();
        for (Run run : runs) {
            Source source = new Source(new RunReader(memory, run), heap.size());
            if (source.next()) {
                heap.add(source);
            }
        }
        for (int i = heap.size() / 2 - 1; i >= 0; i--) {
            sink(i);
        }
    }

    /** Moves to the next pair; false if there is none. */
    public boolean nextPair() {
        if (begun && !heap.isEmpty()) {
            if (heap.getFirst().next()) {
                sink(0);
            } else {
                Source last = heap.removeLast();
                if (!heap.isEmpty()) {
                    heap.set(0, last);
                    sink(0);
                }
            }
        }
        begun = true;
        return !heap.isEmpty();
    }

    /** The current key, valid until the next pair. */
    public Slice key() {
        return heap.getFirst().reader.key();
    }

    /** The current value, valid until the next pair. */
    @Override
    public Slice value() {
        return heap.getFirst().reader.value();
    }

    /** Moves to the first pair of the next key, past the rest of the current one; false if there is none. */
    public boolean nextKey() {
        while (groupKey.array().length > 0 && next()) {
            // Values that the reduce function did not read.
        }
        if (begun ? heap.isEmpty() : !nextPair()) {
            return false;
        }
        Slice key = key();
        if (keyCopy.length < key.length()) {
            keyCopy = new byte[key.length()];
        }
        Bytes.copy(key.array(), key.offset(), keyCopy, 0, key.length());
        groupKey.set(keyCopy, 0, key.length());
        groupBegun = false;
        return true;
    }

    /** The key of {@link #nextKey}, valid until its next call. */
    public Slice groupKey() {
        return groupKey;
    }

    /** Moves to the next value of the key of {@link #nextKey}. */
    @Override
    public boolean next() {
        if (!groupBegun) {
            groupBegun = true;
            return true;
        }
        return !heap.isEmpty() && isOfGroup() && nextPair() && isOfGroup();
    }

    private boolean isOfGroup() {
        Slice key = key();
        return key.length() == groupKey.length()
                && Bytes.isEqual(key.array(), key.offset(), groupKey.array(), groupKey.offset(), key.length());
    }

    private void sink(int start) {
        int parent = start;
        Source moved = heap.get(parent);
        while (2 * parent + 1 < heap.size()) {
            int child = 2 * parent + 1;
            if (child + 1 < heap.size() && isLess(heap.get(child + 1), heap.get(child))) {
                child++;
            }
            if (!isLess(heap.get(child), moved)) {
                break;
            }
            heap.set(parent, heap.get(child));
            parent = child;
        }
        heap.set(parent, moved);
    }

    private boolean isLess(Source left, Source right) {
        if (left.prefix != right.prefix) {
            return left.prefix < right.prefix;
        }
        int order = job.compare(left.reader.key(), right.reader.key());
        return order < 0 || (order == 0 && left.number < right.number);
    }
}
