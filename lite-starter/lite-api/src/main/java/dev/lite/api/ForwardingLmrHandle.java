package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A handle that passes every operation to another one. Subclasses override what they change. */
public abstract class ForwardingLmrHandle implements LmrHandle {
    /** For subclasses. */
    protected ForwardingLmrHandle() {}

    /** The handle that executes the operations; called for each one. */
    @Override
    public abstract LmrHandle unwrap();

    @Override
    public Optional<String> name() {
        return unwrap().name();
    }

    @Override
    public long id() {
        return unwrap().id();
    }

    @Override
    public long size() {
        return unwrap().size();
    }

    @Override
    public Set<Permission> permissions() {
        return unwrap().permissions();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        unwrap().read(offset, destination);
    }

    @Override
    public void write(long offset, MemorySegment source) {
        unwrap().write(offset, source);
    }

    @Override
    public void read(List<LmrSlice> slices) {
        unwrap().read(slices);
    }

    @Override
    public void write(List<LmrSlice> slices) {
        unwrap().write(slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        return unwrap().readAsync(slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        return unwrap().writeAsync(slices);
    }

    @Override
    public void memset(long offset, long length, byte value) {
        unwrap().memset(offset, length, value);
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        return unwrap().fetchAdd(offset, delta);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        return unwrap().testSet(offset, expected, value);
    }

    @Override
    public long getLong(long offset) {
        return unwrap().getLong(offset);
    }

    @Override
    public void putLong(long offset, long value) {
        unwrap().putLong(offset, value);
    }

    @Override
    public int getInt(long offset) {
        return unwrap().getInt(offset);
    }

    @Override
    public void putInt(long offset, int value) {
        unwrap().putInt(offset, value);
    }

    @Override
    public List<Extent> extents() {
        return unwrap().extents();
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        unwrap().grant(principal, permissions);
    }

    @Override
    public void moveTo(String node) {
        unwrap().moveTo(node);
    }

    @Override
    public LmrHandle withPriority(Priority priority) {
        return unwrap().withPriority(priority);
    }

    @Override
    public void unmap() {
        unwrap().unmap();
    }

    @Override
    public void free() {
        unwrap().free();
    }

    @Override
    public String toString() {
        return unwrap().toString();
    }
}
