package dev.lite.api;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * An array of structs in an LMR, with the layout of {@code java.lang.foreign}. Whole elements are read and written through a
 * segment, on which the layout's {@code VarHandle}s work; words inside an element are changed in place:
 *
 * <pre>{@code
 * LmrStructs accounts = LmrStructs.of(handle, ACCOUNT);
 * accounts.read(7, account);
 * long balance = (long) BALANCE.get(account, 0L);
 * handle.getAndAdd(accounts.offset(7, groupElement("balance")), 10);
 * }</pre>
 *
 * <p>Element <i>i</i> begins at the first element's offset + <i>i</i> · {@link #stride()}. So {@code offset(i, path)} equals {@code
 * offset(i) + layout.byteOffset(path)}, and that second part may be computed once. A naturally aligned {@code long} or {@code int}
 * in the layout is a word.
 *
 * <p>Reading or writing an element is one {@link LmrHandle#read} or {@link LmrHandle#write}: it is not atomic. Permissions,
 * deadlines and errors are those of {@link LmrHandle}. An index outside the array throws {@link LmrBoundsException}.
 *
 * <p>Any thread. The view owns nothing: it works as long as its handle does, and need not be closed. Creating a view asks the handle for
 * its size. If the handle maps its LMR at its first use, this is that use.
 */
public final class LmrStructs {
    private final LmrHandle handle;
    private final MemoryLayout layout;
    private final ElementRange range;

    private LmrStructs(MemoryLayout layout, ElementRange range) {
        handle = range.handle();
        this.layout = layout;
        this.range = range;
    }

    /** As many elements as the LMR has room for. */
    public static LmrStructs of(LmrHandle handle, MemoryLayout layout) {
        return of(handle, 0, Objects.requireNonNull(handle, "handle").size() / stride(layout), layout);
    }

    /**
     * A part of the LMR.
     *
     * @param offset the offset of element 0 in the LMR, in bytes; a multiple of the layout's alignment
     * @param length the number of elements
     * @throws LmrBoundsException if the part does not lie inside the LMR, or the offset is not aligned
     * @throws IllegalArgumentException if the layout has no size
     */
    public static LmrStructs of(LmrHandle handle, long offset, long length, MemoryLayout layout) {
        return new LmrStructs(
                layout, ElementRange.of("LmrStructs", handle, offset, stride(layout), layout.byteAlignment(), length));
    }

    private static long stride(MemoryLayout layout) {
        long alignment = Objects.requireNonNull(layout, "layout").byteAlignment();
        long stride = (layout.byteSize() + alignment - 1) & -alignment;
        if (stride == 0) {
            throw new IllegalArgumentException("the layout %s has 0 bytes".formatted(layout));
        }
        return stride;
    }

    /** The number of elements. */
    public long length() {
        return range.length();
    }

    /** The distance from one element to the next, in bytes: the layout's size, rounded up to a multiple of its alignment. */
    public long stride() {
        return range.stride();
    }

    /** The offset of an element in the LMR, in bytes. */
    public long offset(long index) {
        return range.offset(index);
    }

    /**
     * The offset of a field of an element in the LMR, in bytes, for the handle's operations on words.
     *
     * @throws IllegalArgumentException if the layout has no such field
     */
    public long offset(long index, PathElement... path) {
        return range.offset(index) + layout.byteOffset(path);
    }

    /**
     * Reads one element.
     *
     * @param destination has the size of the layout, in bytes
     * @throws IllegalArgumentException if it has another size
     */
    public void read(long index, MemorySegment destination) {
        handle.read(range.offset(index), oneElement("read", "destination", destination));
    }

    /**
     * Writes one element.
     *
     * @param source has the size of the layout, in bytes
     * @throws IllegalArgumentException if it has another size
     */
    public void write(long index, MemorySegment source) {
        handle.write(range.offset(index), oneElement("write", "source", source));
    }

    private MemorySegment oneElement(String what, String parameter, MemorySegment segment) {
        Objects.requireNonNull(segment, parameter);
        if (segment.byteSize() != layout.byteSize()) {
            throw new IllegalArgumentException("%s of an element of %s: the segment has %d bytes, an element has %d"
                    .formatted(what, this, segment.byteSize(), layout.byteSize()));
        }
        return segment;
    }

    @Override
    public String toString() {
        return range.toString();
    }
}
