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

    void commit(long position) {
        if (!held.isHeld()) {
            throw new ConsumerLostException(
                    "the consumer \"%s\" of log \"%s\" lost its lock; open it again".formatted(name, metadata.log));
        }
        metadata.handle.putLong(positionAt, position);
    }

    @Override
    public void close() {
        held.close();
    }
}
