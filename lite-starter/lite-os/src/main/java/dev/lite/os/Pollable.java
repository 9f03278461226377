package dev.lite.os;

/** What an {@link Epoll} can watch. */
public abstract sealed class Pollable implements AutoCloseable permits DuplicateDescriptor, Epoll, EventFd, TcpSocket {
    final Descriptor descriptor;

    Pollable(int number, String name) {
        descriptor = new Descriptor(number, name);
    }

    /** Closes; an {@link Epoll} that watches it forgets it. A second call does nothing. */
    @Override
    public void close() {
        descriptor.close();
    }

    @Override
    public String toString() {
        return "%s[%s]".formatted(getClass().getSimpleName(), descriptor.name());
    }
}
