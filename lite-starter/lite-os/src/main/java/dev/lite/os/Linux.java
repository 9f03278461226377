package dev.lite.os;

import java.util.Locale;
import java.util.Optional;

/** Tells whether this system supports the calls of this package. */
public final class Linux {
    private static final Optional<String> UNSUPPORTED =
            unsupported(System.getProperty("os.name", ""), System.getProperty("os.arch", ""));
    private static final boolean SUPPORTED = UNSUPPORTED.isEmpty();

    private Linux() {}

    /** The reason why this system does not support the calls of this package; empty when it does. */
    public static Optional<String> unsupported() {
        return UNSUPPORTED;
    }

    /**
     * Checks that this system supports the calls of this package.
     *
     * @throws UnsupportedOperationException with the reason of {@link #unsupported()} when it does not
     */
    public static void require() {
        if (!SUPPORTED) {
            require(UNSUPPORTED);
        }
    }

    static void require(Optional<String> unsupported) {
        unsupported.ifPresent(reason -> {
            throw new UnsupportedOperationException(reason);
        });
    }

    /** The size of a page in bytes. */
    public static int pageSize() {
        require();
        return PageSize.BYTES;
    }

    /** Closes a file descriptor that was received in a message and not taken over. */
    public static void closeDescriptor(int descriptor) {
        require();
        Syscalls.close(descriptor);
    }

    static Optional<String> unsupported(String osName, String architecture) {
        if (!osName.toLowerCase(Locale.ROOT).equals("linux")) {
            return Optional.of("LITE needs Linux (memfd, futex, pidfd); this system is '%s'".formatted(osName));
        }
        return switch (architecture) {
            case "amd64", "x86_64", "aarch64" -> Optional.empty();
            default ->
                Optional.of("LITE needs an x86-64 or aarch64 processor (system call numbers); this Java runs on '%s'"
                        .formatted(architecture));
        };
    }

    /** Read once, and only on a supported system. */
    private static final class PageSize {
        static final int BYTES = (int) Syscalls.pageSize();
    }
}
