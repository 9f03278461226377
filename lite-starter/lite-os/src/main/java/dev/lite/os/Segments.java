package dev.lite.os;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** Checks of segments that applications pass in, with what the JDK's own messages leave out. Any thread. */
public final class Segments {
    private Segments() {}

    /**
     * Checks that this thread can read a segment.
     *
     * @param parameter the parameter that it is, for the message
     * @throws IllegalStateException when its arena is closed
     * @throws WrongThreadException when it belongs to the arena of another thread
     */
    public static void requireReadable(String parameter, MemorySegment segment) {
        Objects.requireNonNull(segment, parameter);
        if (!segment.isAccessibleBy(Thread.currentThread())) {
            throw new WrongThreadException("%s: the segment of %d bytes belongs to the arena of another thread"
                    .formatted(parameter, segment.byteSize()));
        }
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException(
                    "%s: the arena of the segment of %d bytes is closed".formatted(parameter, segment.byteSize()));
        }
    }

    /**
     * Checks that this thread can write a segment.
     *
     * @param parameter the parameter that it is, for the message
     * @throws IllegalStateException when its arena is closed
     * @throws WrongThreadException when it belongs to the arena of another thread
     * @throws IllegalArgumentException when it is read-only
     */
    public static void requireWritable(String parameter, MemorySegment segment) {
        requireReadable(parameter, segment);
        if (segment.isReadOnly()) {
            throw new IllegalArgumentException(
                    "%s: the segment of %d bytes is read-only".formatted(parameter, segment.byteSize()));
        }
    }
}
