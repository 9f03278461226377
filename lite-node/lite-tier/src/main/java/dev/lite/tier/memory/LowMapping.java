package dev.lite.tier.memory;

import dev.lite.api.Extent;
import dev.lite.api.LmrSlice;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.os.RawMemory;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.async.AsyncOperations;
import dev.lite.tier.Access;
import dev.lite.tier.TierHandle;
import dev.lite.tier.memory.SliceOperations.Checked;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A view of a handle whose operations have low priority. It shares the mapping: the end of one is the end of both. */
public final class LowMapping implements TierHandle {
    private final Mapping mapping;

    LowMapping(Mapping mapping) {
        this.mapping = mapping;
    }

    /** The handle itself. */
    public Mapping mapping() {
        return mapping;
    }

    @Override
    public long id() {
        return mapping.id();
    }

    @Override
    public Optional<String> name() {
        return mapping.name();
    }

    @Override
    public long size() {
        return mapping.size();
    }

    @Override
    public Set<Permission> permissions() {
        return mapping.permissions();
    }

    @Override
    public List<Extent> extents() {
        return mapping.extents();
    }

    @Override
    public TierHandle withPriority(Priority priority) {
        return Objects.requireNonNull(priority, "priority") == Priority.LOW ? this : mapping;
    }

    @Override
    public boolean mustWait() {
        return mapping.mustWait(true);
    }

    @Override
    public boolean needsFabric() {
        return mapping.needsFabric();
    }

    @Override
    public boolean isHeldUp(long offset, long length) {
        return mapping.isHeldUp(true, offset, length);
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        Segments.requireWritable("destination", destination);
        mapping.read(true, offset, destination, 0, destination.byteSize(), null, 0);
    }

    @Override
    public void write(long offset, MemorySegment source) {
        Segments.requireReadable("source", source);
        mapping.write(true, offset, source, 0, source.byteSize(), null, 0);
    }

    @Override
    public void read(long offset, long address, long length, long timeoutNs) {
        mapping.read(true, offset, RawMemory.all(), address, length, null, timeoutNs);
    }

    @Override
    public void write(long offset, long address, long length, long timeoutNs) {
        mapping.write(true, offset, RawMemory.all(), address, length, null, timeoutNs);
    }

    @Override
    public void read(List<LmrSlice> slices) {
        SliceOperations.read(mapping, true, slices);
    }

    @Override
    public void write(List<LmrSlice> slices) {
        SliceOperations.write(mapping, true, slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        return begin(SliceOperations.checked(mapping, Permission.READ.bit(), slices), SliceOperations::readAll);
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        return begin(SliceOperations.checked(mapping, Permission.WRITE.bit(), slices), SliceOperations::writeAll);
    }

    private CompletableFuture<@Nullable Void> begin(Checked checked, SliceOperations.Transfers transfers) {
        AsyncOperations async = mapping.handleOwner().async();
        Deadline deadline = mapping.deadline(checked.deadline());
        Checked begun = new Checked(checked.slices(), deadline);
        return async.begin(() -> transfers.run(mapping, true, begun), deadline.remaining());
    }

    @Override
    public boolean tryStart(Access access, long timeoutNs, boolean soon, Consumer<@Nullable RuntimeException> ended) {
        return mapping.tryStart(true, access, null, timeoutNs, soon, ended);
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        return fetchAdd(offset, delta, 0);
    }

    @Override
    public long fetchAdd(long offset, long delta, long timeoutNs) {
        return mapping.fetchAdd(true, offset, delta, null, timeoutNs);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        return testSet(offset, expected, value, 0);
    }

    @Override
    public long testSet(long offset, long expected, long value, long timeoutNs) {
        return mapping.testSet(true, offset, expected, value, null, timeoutNs);
    }

    @Override
    public long getLong(long offset) {
        return WordOperations.getLong(mapping, true, offset);
    }

    @Override
    public void putLong(long offset, long value) {
        WordOperations.putLong(mapping, true, offset, value);
    }

    @Override
    public int getInt(long offset) {
        return WordOperations.getInt(mapping, true, offset);
    }

    @Override
    public void putInt(long offset, int value) {
        WordOperations.putInt(mapping, true, offset, value);
    }

    @Override
    public void memset(long offset, long length, byte value) {
        memset(offset, length, value, 0);
    }

    @Override
    public void memset(long offset, long length, byte value, long timeoutNs) {
        mapping.memset(true, offset, length, value, timeoutNs);
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        mapping.grant(principal, permissions);
    }

    @Override
    public void grant(String principal, Set<Permission> permissions, Duration deadline) {
        mapping.grant(principal, permissions, deadline);
    }

    @Override
    public void moveTo(String node) {
        mapping.moveTo(node);
    }

    @Override
    public void moveTo(String node, Duration deadline) {
        mapping.moveTo(node, deadline);
    }

    @Override
    public void unmap() {
        mapping.unmap();
    }

    @Override
    public void unmap(Duration deadline) {
        mapping.unmap(deadline);
    }

    @Override
    public void free() {
        mapping.free();
    }

    @Override
    public void free(Duration deadline) {
        mapping.free(deadline);
    }

    /** Both are handles of one LMR, with one owner. */
    @Override
    public String toString() {
        return mapping.toString();
    }
}
