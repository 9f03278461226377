package dev.lite.boot.resilience;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A handle that repeats reads and writes. What others do to the LMR meanwhile is as with any two writers. Any thread. */
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

    private void retryRead(Runnable operation) {
        boolean unused = resilience.retry(() -> {
            operation.run();
            return true;
        });
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        retryRead(() -> handle.read(offset, destination));
    }

    @Override
    public void write(long offset, MemorySegment source) {
        resilience.retryWrite(() -> handle.write(offset, source));
    }

    @Override
    public void read(List<LmrSlice> slices) {
        retryRead(() -> handle.read(slices));
    }

    @Override
    public void write(List<LmrSlice> slices) {
        resilience.retryWrite(() -> handle.write(slices));
    }
}
