package dev.lite.boot.resilience;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.Priority;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A handle that repeats reads and writes. What others do to the LMR meanwhile is as with any two writers. The first attempt takes
 * no object. Any thread.
 */
final class ResilientHandle extends ForwardingLmrHandle {

    private final LmrHandle handle;
    private final Resilience resilience;

    ResilientHandle(LmrHandle handle, Resilience resilience) {
        this.handle = handle;
        this.resilience = resilience;
    }

    @Override
    public LmrHandle unwrap() {
        return handle;
    }

    @Override
    public LmrHandle withPriority(Priority priority) {
        return new ResilientHandle(handle.withPriority(priority), resilience);
    }

    private void repeatRead(long beginNs, LiteException failure, Runnable operation) {
        boolean unused = resilience.repeat(beginNs, failure, () -> {
            operation.run();
            return true;
        });
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        long beginNs = System.nanoTime();
        try {
            handle.read(offset, destination);
        } catch (LiteException failure) {
            repeatRead(beginNs, failure, () -> handle.read(offset, destination));
        }
    }

    @Override
    public void write(long offset, MemorySegment source) {
        long beginNs = System.nanoTime();
        try {
            handle.write(offset, source);
        } catch (LiteException failure) {
            resilience.repeatWrite(beginNs, failure, () -> handle.write(offset, source));
        }
    }

    @Override
    public void read(List<LmrSlice> slices) {
        long beginNs = System.nanoTime();
        try {
            handle.read(slices);
        } catch (LiteException failure) {
            repeatRead(beginNs, failure, () -> handle.read(slices));
        }
    }

    @Override
    public void write(List<LmrSlice> slices) {
        long beginNs = System.nanoTime();
        try {
            handle.write(slices);
        } catch (LiteException failure) {
            resilience.repeatWrite(beginNs, failure, () -> handle.write(slices));
        }
    }

    @Override
    public long getLong(long offset) {
        long beginNs = System.nanoTime();
        try {
            return handle.getLong(offset);
        } catch (LiteException failure) {
            return resilience.repeat(beginNs, failure, () -> handle.getLong(offset));
        }
    }

    @Override
    public void putLong(long offset, long value) {
        long beginNs = System.nanoTime();
        try {
            handle.putLong(offset, value);
        } catch (LiteException failure) {
            resilience.repeatWrite(beginNs, failure, () -> handle.putLong(offset, value));
        }
    }

    @Override
    public int getInt(long offset) {
        long beginNs = System.nanoTime();
        try {
            return handle.getInt(offset);
        } catch (LiteException failure) {
            return resilience.repeat(beginNs, failure, () -> handle.getInt(offset));
        }
    }

    @Override
    public void putInt(long offset, int value) {
        long beginNs = System.nanoTime();
        try {
            handle.putInt(offset, value);
        } catch (LiteException failure) {
            resilience.repeatWrite(beginNs, failure, () -> handle.putInt(offset, value));
        }
    }
}
