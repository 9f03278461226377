package dev.lite.os;

import java.nio.file.Path;

/**
 * A directory that is open. What is below it is found from the directory itself, not by its name, which somebody else may have given to
 * another one meanwhile. Any thread; the owner closes it.
 */
public final class OpenDirectory implements AutoCloseable {
    private final Descriptor descriptor;
    private final int number;

    private OpenDirectory(int number, String name) {
        this.number = number;
        descriptor = new Descriptor(number, name);
    }

    /**
     * Opens a directory, also through links.
     *
     * @throws OsException ENOENT when it does not exist, ENOTDIR when it is no directory
     */
    public static OpenDirectory open(Path path) {
        Linux.require();
        return new OpenDirectory(MemoryCalls.openDirectory(path.toString()), path.toString());
    }

    /**
     * Opens a directory in this one, which must not be a link.
     *
     * @param name without a slash
     * @throws OsException ENOENT when it does not exist, ENOTDIR when it is no directory, or a link
     */
    public OpenDirectory child(String name) {
        requireName(name);
        return new OpenDirectory(MemoryCalls.openDirectoryIn(number, name), descriptor.name() + "/" + name);
    }

    /** This directory, for calls that take a path; valid until it is closed, and only in this process. */
    public Path path() {
        return Path.of("/proc/self/fd/" + number);
    }

    /** What has this name in this directory, for calls that take a path; valid until it is closed, and only in this process. */
    public Path resolve(String name) {
        requireName(name);
        return path().resolve(name);
    }

    int number() {
        return number;
    }

    static void requireName(String name) {
        if (name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('/') >= 0) {
            throw new IllegalArgumentException("\"%s\" is not a name in a directory".formatted(name));
        }
    }

    /** Idempotent. */
    @Override
    public void close() {
        descriptor.close();
    }

    @Override
    public String toString() {
        return descriptor.name();
    }
}
