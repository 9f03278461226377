package dev.lite.embedded;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.UserPrincipal;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory for the sockets of one embedded node, below the system's directory for temporary files. It goes with {@link
 * #close}, or with a shutdown hook when the process ends without it. A process that was killed leaves it; the next start of
 * an embedded node of the same user removes it.
 *
 * <p>A lock on a file in the directory says that its process lives. The system releases it with the process, and knows it
 * across containers that share the directory, which process ids do not. Any thread.
 */
final class RunDirectory implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(RunDirectory.class);
    private static final String PREFIX = "lite-embedded-";
    private static final String LOCK = "lock";

    /** A sweep of another process can remove a directory before it is locked; the next one has another name. */
    private static final int TRIES = 16;

    private final Path path;
    private final FileChannel lock;
    private final Thread hook;

    private RunDirectory(Path path, FileChannel lock) {
        this.path = path;
        this.lock = lock;
        hook = Thread.ofPlatform().name("lite-embedded-end").unstarted(() -> delete(path));
    }

    /** Removes the directories of processes that were killed, and makes a new one. */
    static RunDirectory create() {
        try {
            for (int tries = 0; tries < TRIES; tries++) {
                // The process id only tells this process its own directories; see sweep.
                Path made = Files.createTempDirectory(ownPrefix());
                FileChannel lock = lock(made);
                if (lock != null) {
                    RunDirectory directory = new RunDirectory(made, lock);
                    Runtime.getRuntime().addShutdownHook(directory.hook);
                    sweep(made);
                    return directory;
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a run directory for an embedded node", e);
        }
        throw new IllegalStateException(
                "cannot create a run directory for an embedded node: other processes removed %d of them"
                        .formatted(TRIES));
    }

    private static String ownPrefix() {
        return PREFIX + ProcessHandle.current().pid() + "-";
    }

    /** Locks a new directory; null if another process took it for the directory of a dead one. */
    private static @Nullable FileChannel lock(Path directory) throws IOException {
        Path file = directory.resolve(LOCK);
        FileChannel channel;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        } catch (NoSuchFileException e) {
            return null;
        }
        if (channel.tryLock() != null && Files.exists(file)) {
            return channel;
        }
        channel.close();
        return null;
    }

    /** Removes the directories of this user beside this one whose processes have ended. Failures are only logged. */
    private static void sweep(Path own) {
        Path parent = own.toAbsolutePath().getParent();
        if (parent == null) {
            return;
        }
        try (DirectoryStream<Path> all = Files.newDirectoryStream(parent, PREFIX + "*")) {
            UserPrincipal user = Files.getOwner(own);
            for (Path directory : all) {
                // Opening and closing a lock file of this process would release its lock.
                boolean ofThisProcess = directory.getFileName().toString().startsWith(ownPrefix());
                if (!ofThisProcess && user.equals(Files.getOwner(directory, LinkOption.NOFOLLOW_LINKS))) {
                    removeIfDead(directory);
                }
            }
        } catch (IOException e) {
            log.debug("cannot look for the run directories of ended processes: {}", e.toString());
        }
    }

    private static void removeIfDead(Path directory) {
        try (FileChannel channel =
                FileChannel.open(directory.resolve(LOCK), StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            if (channel.tryLock() != null) {
                delete(directory);
            }
        } catch (NoSuchFileException e) {
            delete(directory); // its process ended before it made the lock, or is about to, and then makes another
            // directory
        } catch (IOException e) {
            log.debug("kept {}: {}", directory, e.toString());
        }
    }

    Path path() {
        return path;
    }

    /** Removes the directory. A second call does nothing. */
    @Override
    public void close() {
        try {
            boolean unused = Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            log.debug("the process ends: {}", e.getMessage()); // the hook deletes as well
        }
        delete(path);
        try {
            lock.close();
        } catch (IOException e) {
            log.debug("the lock of {} is released in any case: {}", path, e.toString());
        }
    }

    /** Deletes the directory with its files; it has no directories. The lock goes last, so a sweep can finish what this began. */
    private static void delete(Path directory) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                if (!file.endsWith(LOCK)) {
                    Files.deleteIfExists(file);
                }
            }
            Files.deleteIfExists(directory.resolve(LOCK));
            Files.deleteIfExists(directory);
        } catch (NoSuchFileException e) {
            return; // it is deleted already
        } catch (IOException e) {
            log.warn("cannot delete the run directory {}: {}", directory, e.toString());
        }
    }
}
