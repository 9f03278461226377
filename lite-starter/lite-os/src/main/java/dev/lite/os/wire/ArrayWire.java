package dev.lite.os.wire;

import java.lang.foreign.MemorySegment;

/** A wire that also sends from and receives into arrays of the heap, without a copy. */
public interface ArrayWire extends Wire {
    /**
     * {@link Wire#send} from an array of bytes.
     *
     * @param from the array's segment, or a part of it
     */
    long send(MemorySegment from);

    /**
     * {@link Wire#receive} into an array of bytes.
     *
     * @param to the array's segment, or a part of it; at least 1 byte
     */
    long receive(MemorySegment to);
}
