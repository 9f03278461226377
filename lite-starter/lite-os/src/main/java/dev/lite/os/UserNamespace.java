package dev.lite.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** The user namespace of this process. Any thread. */
public final class UserNamespace {
    /** All user ids but the last one, which means none. */
    private static final long ALL_IDS = 0xFFFF_FFFFL;

    private UserNamespace() {}

    /**
     * The user id by which the kernel shows every user that this namespace does not have, so that it tells nothing of who it is.
     *
     * @return empty if the namespace has all users
     * @throws UncheckedIOException if the kernel does not tell
     */
    public static OptionalInt uidOfOthers() {
        try {
            return uidOfOthers(
                    Files.readString(Path.of("/proc/self/uid_map")),
                    Files.readString(Path.of("/proc/sys/kernel/overflowuid")));
        } catch (NoSuchFileException withoutNamespaces) {
            return OptionalInt.empty();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read which users this process' namespace has", e);
        }
    }

    /**
     * The effective user id of this process.
     *
     * @throws UncheckedIOException if the kernel does not tell
     */
    public static int ownUid() {
        // Not the owner of /proc/self, which is root for a process that may not be dumped.
        Path status = Path.of("/proc/self/status");
        try (Stream<String> lines = Files.lines(status)) {
            return lines.filter(line -> line.startsWith("Uid:"))
                    .map(line -> Integer.parseUnsignedInt(line.split("\\s+", 4)[2]))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("%s has no line Uid:".formatted(status)));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read this process's user id", e);
        }
    }

    /** @param uidMap lines of first id inside, first id outside, count */
    static OptionalInt uidOfOthers(String uidMap, String overflowUid) {
        long ids = uidMap.lines()
                .mapToLong(line -> Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
        return ids >= ALL_IDS ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(overflowUid.strip()));
    }
}
