package dev.lite.api;

import java.util.Objects;

/**
 * Elements of equal size side by side in a handle's LMR; the arithmetic of {@link LmrLongs} and {@link LmrStructs}. Any thread.
 *
 * @param what names the view in messages
 * @param start the offset of element 0, in bytes
 * @param stride the distance from one element to the next, in bytes
 * @param length the number of elements
 */
record ElementRange(String what, LmrHandle handle, long start, long stride, long length) {

    /**
     * Checks a range that an application chose.
     *
     * @param alignment of each element, in bytes; a power of two
     * @throws LmrBoundsException if it does not lie inside the LMR, or the offset is not a multiple of the alignment
     */
    static ElementRange of(String what, LmrHandle handle, long start, long stride, long alignment, long length) {
        Objects.requireNonNull(handle, "handle");
        if ((start & (alignment - 1)) != 0) {
            throw new LmrBoundsException("%s at offset %d of %s: the offset must be a multiple of %d"
                    .formatted(what, start, handle, alignment));
        }
        long size = handle.size();
        if (start < 0 || start > size || length < 0 || length > (size - start) / stride) {
            throw new LmrBoundsException("%s: %s of %d bytes at offset %d of %s, which has %d bytes"
                    .formatted(what, elements(length), stride, start, handle, size));
        }
        return new ElementRange(what, handle, start, stride, length);
    }

    /** The offset of an element in the LMR, in bytes. */
    long offset(long index) {
        if (index < 0 || index >= length) {
            throw new LmrBoundsException(
                    "element %d of %s over %s: it has %s".formatted(index, what, handle, elements(length)));
        }
        return start + index * stride;
    }

    /** The offset of the first of {@code count} elements. */
    long offset(long index, long count) {
        if (index < 0 || count < 0 || index > length - count) {
            throw new LmrBoundsException("%s from element %d of %s over %s: it has %s"
                    .formatted(elements(count), index, what, handle, elements(length)));
        }
        return start + index * stride;
    }

    /** So many elements, in words. */
    static String elements(long count) {
        return count == 1 ? "1 element" : count + " elements";
    }

    @Override
    public String toString() {
        return "%s[%d over %s]".formatted(what, length, handle);
    }
}
