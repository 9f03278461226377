package dev.lite.tier.memory;

import dev.lite.os.Errno;
import dev.lite.os.OpenDirectory;
import dev.lite.os.OsException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directories and files of an arena, and the checks of their owners. An attacker may have created them before this node, to read
 * its memory or to change its content. So everything below the root must belong to this user: directories and files that are no links
 * and that no other user may write to. Each directory is opened from the one above it and checked while it is open; files are opened
 * from the last directory. So nobody can replace one of them between the check and the use.
 */
final class ArenaPath {
    private static final Logger log = LoggerFactory.getLogger(ArenaPath.class);
    private static final int OTHERS_WRITE = 0022;
    private static final int OTHERS = 0077;
    private static final int STICKY = 01000;
    private static final int TYPE = 0170000;
    private static final int DIRECTORY = 0040000;
    private static final int FILE = 0100000;
    private static final int ROOT_USER = 0;

    private ArenaPath() {}

    /**
     * Creates the directories that are missing, of mode 0700, and checks all of them.
     *
     * @param root the parent of all arenas; may belong to the superuser, too
     * @param directory below the root
     * @return the directory, which the caller closes
     * @throws ArenaException if one does not belong to this user alone
     * @throws IOException if one cannot be created
     */
    static OpenDirectory prepare(Path root, Path directory) throws IOException {
        Path parent = root.toAbsolutePath().getParent();
        if (parent != null && Files.notExists(parent)) {
            Files.createDirectories(
                    parent, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        }
        create(root);
        OpenDirectory held = OpenDirectory.open(root);
        try {
            checkRoot(root, held);
            Path below = root;
            for (Path name : root.relativize(directory)) {
                below = below.resolve(name);
                OpenDirectory next = child(held, name.toString(), below);
                held.close();
                held = next;
                check(below, attributes(held.path()), DIRECTORY, OTHERS_WRITE);
            }
            return held;
        } catch (RuntimeException | IOException e) {
            held.close();
            throw e;
        }
    }

    private static OpenDirectory child(OpenDirectory held, String name, Path shown) throws IOException {
        create(held.resolve(name));
        try {
            return held.child(name);
        } catch (OsException e) {
            throw foreign(shown, "it is no directory, or a link (%s)".formatted(Errno.name(e.errno())));
        }
    }

    /**
     * Checks a file that is open.
     *
     * @param file its path, for messages
     * @param descriptor open for it
     * @throws ArenaException if it does not belong to this user alone
     * @throws IOException if it cannot be read
     */
    static void checkFile(Path file, int descriptor) throws IOException {
        Map<String, Object> attributes = attributes(Path.of("/proc/self/fd/" + descriptor));
        check(file, attributes, FILE, OTHERS);
        int links = number(attributes, "nlink");
        if (links != 1) {
            throw foreign(file, "it has %d names; an arena has one".formatted(links));
        }
    }

    /** The refusal of a link in place of a file. */
    static ArenaException isLink(Path file) {
        return foreign(file, "it is no file, or a link");
    }

    private static void create(Path directory) throws IOException {
        if (Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            Files.createDirectory(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException another) {
            // It is checked next.
        }
    }

    private static void checkRoot(Path root, OpenDirectory held) throws IOException {
        // Its last component may be a link of the superuser's or this user's, as /dev/shm is on some systems.
        Map<String, Object> itself = attributes(root, LinkOption.NOFOLLOW_LINKS);
        Map<String, Object> target = attributes(held.path());
        for (Map<String, Object> each : List.of(itself, target)) {
            int owner = number(each, "uid");
            if (owner != self() && owner != ROOT_USER) {
                throw foreign(root, "it belongs to user %d".formatted(owner));
            }
        }
        int mode = number(target, "mode");
        if ((mode & OTHERS_WRITE) != 0 && (mode & STICKY) == 0) {
            log.warn(
                    "other users may write to {}, the parent directory of all arenas: use a directory of this user's",
                    root);
        }
    }

    private static void check(Path path, Map<String, Object> attributes, int type, int forbidden) throws IOException {
        int mode = number(attributes, "mode");
        int owner = number(attributes, "uid");
        if ((mode & TYPE) != type) {
            throw foreign(path, type == FILE ? "it is no file, or a link" : "it is no directory, or a link");
        }
        if (owner != self()) {
            throw foreign(path, "it belongs to user %d, and this node runs as user %d".formatted(owner, self()));
        }
        if ((mode & forbidden) != 0) {
            throw foreign(path, "other users have access to it: its mode is %04o".formatted(mode & 07777));
        }
    }

    private static int number(Map<String, Object> attributes, String name) {
        return ((Number) Objects.requireNonNull(attributes.get(name))).intValue();
    }

    private static Map<String, Object> attributes(Path path, LinkOption... options) throws IOException {
        return Files.readAttributes(path, "unix:uid,mode,nlink", options);
    }

    private static int self() throws IOException {
        return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    }

    private static ArenaException foreign(Path path, String why) {
        return new ArenaException(
                "the arena must belong to this node's user alone, but not so %s: %s. Remove it, or change lite.node.arena.directory"
                        .formatted(path, why),
                null);
    }
}
