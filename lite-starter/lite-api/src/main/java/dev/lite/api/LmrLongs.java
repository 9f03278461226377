package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * An array of 64-bit words in an LMR. Each method is the handle's operation on the element's offset: memory order, permissions,
 * deadlines and errors are those of {@link LmrHandle}. An index outside the array throws {@link LmrBoundsException}.
 *
 * <p>Any thread. The view owns nothing: it works as long as its handle does, and need not be closed. Creating a view asks the handle for
 * its size. If the handle maps its LMR at its first use, this is that use.
 */
public final class LmrLongs {
    private final LmrHandle handle;
    private final ElementRange range;

    private LmrLongs(ElementRange range) {
        handle = range.handle();
        this.range = range;
    }

    /** All words of the LMR. If its size is not a multiple of 8, the bytes after the last whole word are not part of the array. */
    public static LmrLongs of(LmrHandle handle) {
        return of(handle, 0, Objects.requireNonNull(handle, "handle").size() / Long.BYTES);
    }

    /**
     * A part of the LMR.
     *
     * @param offset the offset of element 0 in the LMR, in bytes; a multiple of 8
     * @param length the number of words
     * @throws LmrBoundsException if the part does not lie inside the LMR, or the offset is not a multiple of 8
     */
    public static LmrLongs of(LmrHandle handle, long offset, long length) {
        return new LmrLongs(ElementRange.of("LmrLongs", handle, offset, Long.BYTES, Long.BYTES, length));
    }

    /** The number of words. */
    public long length() {
        return range.length();
    }

    /** The offset of an element in the LMR, in bytes. */
    public long offset(long index) {
        return range.offset(index);
    }

    /** {@link LmrHandle#getLong}. */
    public long get(long index) {
        return handle.getLong(range.offset(index));
    }

    /** {@link LmrHandle#putLong}. */
    public void set(long index, long value) {
        handle.putLong(range.offset(index), value);
    }

    /** {@link LmrHandle#getAndAdd}. */
    public long getAndAdd(long index, long delta) {
        return handle.getAndAdd(range.offset(index), delta);
    }

    /** {@link LmrHandle#getAndSet}. */
    public long getAndSet(long index, long value) {
        return handle.getAndSet(range.offset(index), value);
    }

    /** {@link LmrHandle#compareAndSet}. */
    public boolean compareAndSet(long index, long expected, long value) {
        return handle.compareAndSet(range.offset(index), expected, value);
    }

    /**
     * One {@link LmrHandle#read} from element {@code index} on, into {@code count} elements of the array. It may see a part of a
     * concurrent write.
     *
     * @param from the first element of the array
     * @throws IndexOutOfBoundsException if the array has no such range
     */
    public void read(long index, long[] destination, int from, int count) {
        handle.read(range.offset(index, count), part("destination", destination, from, count));
    }

    /** {@link #read(long, long[], int, int)}; fills the whole array. */
    public void read(long index, long[] destination) {
        read(index, destination, 0, Objects.requireNonNull(destination, "destination").length);
    }

    /**
     * One {@link LmrHandle#write} of {@code count} elements of the array, to element {@code index} and the next ones. A concurrent
     * read may see a part of it.
     *
     * @param from the first element of the array
     * @throws IndexOutOfBoundsException if the array has no such range
     */
    public void write(long index, long[] source, int from, int count) {
        handle.write(range.offset(index, count), part("source", source, from, count));
    }

    /** {@link #write(long, long[], int, int)}; writes the whole array. */
    public void write(long index, long[] source) {
        write(index, source, 0, Objects.requireNonNull(source, "source").length);
    }

    private static MemorySegment part(String parameter, long[] array, int from, int count) {
        Objects.requireNonNull(array, parameter);
        if (from < 0 || from > array.length - count) {
            throw new IndexOutOfBoundsException("%s from element %d of %s, which has %s"
                    .formatted(ElementRange.elements(count), from, parameter, ElementRange.elements(array.length)));
        }
        return MemorySegment.ofArray(array).asSlice((long) from * Long.BYTES, (long) count * Long.BYTES);
    }

    @Override
    public String toString() {
        return range.toString();
    }
}
