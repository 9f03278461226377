package dev.lite.tier.node;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The name of this host and its boot id. Two nodes with the same value can share memory. The name is for people; the
 * boot id tells machines apart. Both come from the kernel, because a name service may not know this host, or not
 * answer.
 */
final class HostName {
    private static final Path NAME = Path.of("/proc/sys/kernel/hostname");
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private HostName() {}

    static String read() {
        try {
            return Files.readString(NAME).strip() + "/"
                    + Files.readString(BOOT_ID).strip();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read this host's name and boot id", e);
        }
    }
}
