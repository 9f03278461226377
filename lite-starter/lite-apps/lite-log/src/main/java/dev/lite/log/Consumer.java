package dev.lite.log;

import dev.lite.api.HeldLock;

/** A consumer's name, held by this process, and its row. Any thread. */
final class Consumer implements AutoCloseable {
    private final String name;
    private final Metadata metadata;
    private final long positionAt;
    private final long start;
    private final HeldLock held;

    Consumer(String name, Metadata metadata, long positionAt, long start, HeldLock held) {
        this.name = name;
        this.metadata = metadata;
        this.positionAt = positionAt;
        this.start = start;
        this.held = held;
    }

    /** The position that was committed last, or the first one. */
    long start() {
        return start;
    }

    /** @throws ConsumerLostException if another process may have the name now */
    void requireHeld() {
        if (!held.isHeld()) {
            throw new ConsumerLostException(
                    "the consumer \"%s\" of log \"%s\" lost its lock; close it, and open it again"
                            .formatted(name, metadata.log));
        }
    }

    void commit(long position) {
        requireHeld();
        metadata.handle.putLong(positionAt, position);
    }

    @Override
    public void close() {
        held.close();
    }
}
