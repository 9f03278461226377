package dev.lite.demo;

import dev.lite.local.LocalProcess;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.OptionalInt;
import java.util.function.IntPredicate;

/** What the demo and the samples have in common: applications with tokens of their own, which end by themselves. */
final class Applications {

    private static final Duration EXIT_POLL = Duration.ofMillis(100);

    private Applications() {}

    /** A new secret, by which an application authenticates. */
    static String token() {
        byte[] bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /**
     * Waits a moment for an application's end; returns whether it has ended.
     *
     * @param accepted the exit statuses, other than 0, that are no failure
     * @throws DemoFailedException when it ended with another status
     */
    static boolean endedWell(LocalProcess application, IntPredicate accepted) {
        OptionalInt status = application.awaitExit(EXIT_POLL);
        if (status.isPresent() && status.getAsInt() != 0 && !accepted.test(status.getAsInt())) {
            throw failed(application, status.getAsInt());
        }
        return status.isPresent();
    }

    private static DemoFailedException failed(LocalProcess application, int status) {
        if (status > 128) {
            return new DemoFailedException(
                    "the application %s was killed by signal %d".formatted(application.name(), status - 128));
        }
        return new DemoFailedException("the application %s ended with status %d; the last lines of its log:%n%s"
                .formatted(application.name(), status, application.lastLines()));
    }
}
