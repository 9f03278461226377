package dev.lite.os;

/** A descriptor that can be added to an {@link Epoll}. */
public abstract sealed class Pollable implements AutoCloseable
        permits DuplicateDescriptor, Epoll, EventFd, TcpSocket, UnixSocket {
    final Descriptor descriptor;

    Pollable(int number, String name) {
        descriptor = new Descriptor(number, name);
    }

    /** Closes the descriptor, which also removes it from every {@link Epoll}. Idempotent. */
    @Override
    public void close() {
        descriptor.close();
    }

    @Override
    public String toString() {
        return "%s[%s]".formatted(getClass().getSimpleName(), descriptor.name());
    }
}
