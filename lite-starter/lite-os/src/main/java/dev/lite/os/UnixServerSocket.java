package dev.lite.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A listening Unix socket (SOCK_SEQPACKET). Any thread. */
public final class UnixServerSocket implements AutoCloseable {
    private static final int S_IFMT = 0170000;
    private static final int S_IFSOCK = 0140000;

    private final Descriptor descriptor;
    private final Path path;
    /** The identity of the bound file: a file that another process creates there later must not be removed. */
    private final @Nullable Object fileKey;

    private final boolean refusesDescriptors;

    private UnixServerSocket(int number, Path path, boolean refusesDescriptors) {
        this.path = path;
        this.refusesDescriptors = refusesDescriptors;
        descriptor = new Descriptor(number, path.toString());
        fileKey = fileKey(path);
    }

    /**
     * Binds and listens. Replaces a socket left behind by a dead server. Two servers that start on the same path at the
     * same time need a lock of their own.
     *
     * @param path at most 106 bytes in UTF-8; its directory must exist
     * @param mode the socket's permission bits, for example 0600: users with write permission may connect
     * @param backlog the maximum number of connections waiting for {@link #accept}
     * @throws OsException EADDRINUSE when a server listens there or the file is not a socket; ENOENT when the directory
     *     does not exist
     */
    public static UnixServerSocket bind(Path path, int mode, int backlog) {
        return bind(path, mode, backlog, false);
    }

    /**
     * {@link #bind} for clients that are not trusted, and send no descriptors. Who closes the last descriptor of an open file waits for
     * that file, for as long as its maker wants: a socket lingers, a file system of the client's does not answer. So the kernel refuses
     * their messages with descriptors (EPERM). Before Linux 6.16 it does not: see {@link #refusesDescriptors}.
     */
    public static UnixServerSocket bindForStrangers(Path path, int mode, int backlog) {
        return bind(path, mode, backlog, true);
    }

    private static UnixServerSocket bind(Path path, int mode, int backlog, boolean strangers) {
        Linux.require();
        byte[] pathBytes = SocketCalls.pathBytes(path);
        var permissions = permissions(mode);
        unlinkIfStale(path);
        int number = SocketCalls.socket();
        var state = CallState.current();
        if (SocketCalls.bind(state, number, pathBytes) < 0) {
            var refused = new OsException("bind(%s)".formatted(path), state.errno());
            Syscalls.close(number);
            throw refused;
        }
        // Before listen: no client can connect earlier.
        var server = new UnixServerSocket(number, path, strangers && SocketCalls.refuseDescriptors(state, number) == 0);
        try {
            // No client can connect before listen, so the mode set by the umask is never effective.
            Files.setPosixFilePermissions(path, permissions);
            if (SocketCalls.listen(state, number, backlog) < 0) {
                throw new OsException("listen(%s, %d)".formatted(path, backlog), state.errno());
            }
        } catch (IOException e) {
            server.close();
            throw new UncheckedIOException(e);
        } catch (OsException e) {
            server.close();
            throw e;
        }
        return server;
    }

    /**
     * Blocks until a peer connects.
     *
     * @throws OsException EBADF or EINVAL when this socket is closed, also during the call; EMFILE when the process has no
     *     descriptor left (the peer keeps waiting)
     */
    public UnixSocket accept() {
        int number = descriptor.acquire("accept4");
        try {
            var state = CallState.current();
            while (true) {
                int accepted = SocketCalls.accept(state, number);
                if (accepted >= 0) {
                    return new UnixSocket(accepted, descriptor.name());
                }
                int errno = state.errno();
                if (errno != Errno.EINTR && errno != Errno.ECONNABORTED) {
                    throw new OsException("accept4(%s)".formatted(path), errno);
                }
            }
        } finally {
            descriptor.release();
        }
    }

    /** Whether the kernel refuses messages with descriptors from the clients. */
    public boolean refusesDescriptors() {
        return refusesDescriptors;
    }

    /** The path it listens on. */
    public Path path() {
        return path;
    }

    /**
     * Stops listening, ends a blocked {@link #accept}, and removes the socket's file unless another server has replaced it.
     * Accepted connections stay open. Idempotent.
     */
    @Override
    public void close() {
        int number;
        try {
            number = descriptor.acquire("close");
        } catch (OsException e) {
            return;
        }
        try {
            if (fileKey != null && fileKey.equals(fileKey(path))) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            SocketCalls.shutdown(number);
            descriptor.close();
            descriptor.release();
        }
    }

    private static void unlinkIfStale(Path path) {
        if (!isSocket(path)) {
            return;
        }
        try (var alive = UnixSocket.connect(path)) {
            throw new OsException(
                    "bind(%s)".formatted(path),
                    Errno.EADDRINUSE,
                    "process %d listens there".formatted(alive.peerCredentials().pid()),
                    null);
        } catch (OsException e) {
            if (e.errno() == Errno.ECONNREFUSED) {
                unlink(path);
            } else if (e.errno() == Errno.EADDRINUSE) {
                throw e;
            } else if (e.errno() != Errno.ENOENT) {
                throw new OsException(
                        "bind(%s)".formatted(path), Errno.EADDRINUSE, "the path exists and is not a stale socket", e);
            }
        }
    }

    private static void unlink(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Only a socket may be removed: connecting to any other file is refused, too. */
    private static boolean isSocket(Path path) {
        try {
            int mode = (int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
            return (mode & S_IFMT) == S_IFSOCK;
        } catch (IOException e) {
            return false;
        }
    }

    private static @Nullable Object fileKey(Path path) {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .fileKey();
        } catch (IOException e) {
            return null;
        }
    }

    private static Set<PosixFilePermission> permissions(int mode) {
        if ((mode & ~0777) != 0) {
            throw new IllegalArgumentException("a mode may only have the bits 0777, not 0%o".formatted(mode));
        }
        var bits =
                PosixFilePermission.values(); // OWNER_READ first, OTHERS_EXECUTE last: the order of the bits of a mode
        var permissions = EnumSet.noneOf(PosixFilePermission.class);
        for (int i = 0; i < bits.length; i++) {
            if ((mode & (0400 >> i)) != 0) {
                permissions.add(bits[i]);
            }
        }
        return permissions;
    }

    @Override
    public String toString() {
        return "UnixServerSocket[%s]".formatted(path);
    }
}
