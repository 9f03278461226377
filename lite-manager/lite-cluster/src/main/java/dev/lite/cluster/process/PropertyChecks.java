package dev.lite.cluster.process;

import dev.lite.os.waiting.Durations;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Pattern;
import org.apache.zookeeper.client.ConnectStringParser;
import org.jspecify.annotations.Nullable;

/** Checks of the processes' properties. Each message has the property, the value and what is allowed. Any thread. */
public final class PropertyChecks {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,63}");
    private static final Duration MILLISECOND = Duration.ofMillis(1);
    private static final Duration TIMEOUT_MIN = Duration.ofMillis(100);
    private static final Duration TIMEOUT_MAX = Duration.ofHours(1);
    private static final Duration WAIT_MAX = Duration.ofDays(1);
    private static final int SECRET_BYTES_MIN = 16;

    private PropertyChecks() {}

    /** Whether the header of a request can carry a token: visible ASCII only. A file with a token often ends with a line break. */
    public static boolean isHeaderToken(String token) {
        return token.chars().allMatch(character -> character > ' ' && character < 0x7f);
    }

    /**
     * Checks the length of a secret.
     *
     * @param secret null if there is none
     */
    public static void secret(String property, @Nullable String secret) {
        if (secret != null && secret.getBytes(StandardCharsets.UTF_8).length < SECRET_BYTES_MIN) {
            throw new IllegalArgumentException("%s has %d bytes; it must have at least %d"
                    .formatted(property, secret.getBytes(StandardCharsets.UTF_8).length, SECRET_BYTES_MIN));
        }
    }

    /**
     * Checks a number.
     *
     * @throws IllegalArgumentException if it is out of range
     */
    public static void range(String property, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("%s is %d; it must be %d to %d".formatted(property, value, min, max));
        }
    }

    /**
     * Checks a duration.
     *
     * @throws IllegalArgumentException if it is out of range
     */
    public static void range(String property, Duration value, Duration min, Duration max) {
        if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
            throw new IllegalArgumentException("%s is %s; it must be %s to %s"
                    .formatted(property, Durations.text(value), Durations.text(min), Durations.text(max)));
        }
    }

    /**
     * Checks how long a process waits for something: 1 ms to 1 day.
     *
     * @throws IllegalArgumentException if it is out of range
     */
    public static void deadline(String property, Duration value) {
        range(property, value, MILLISECOND, WAIT_MAX);
    }

    /**
     * Checks the name of a cluster or node, which becomes a directory.
     *
     * @throws IllegalArgumentException if it has other characters or another length
     */
    public static void name(String property, String value) {
        if (!NAME.matcher(value).matches() || value.equals(".") || value.equals("..")) {
            throw new IllegalArgumentException(
                    "%s is \"%s\"; it must be 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(property, value));
        }
    }

    /**
     * Checks the properties of a cluster.
     *
     * @throws IllegalArgumentException if one is wrong
     */
    public static void cluster(
            String name, @Nullable String zookeeper, Duration sessionTimeout, Duration connectionTimeout, String user) {
        name("lite.cluster.name", name);
        if (zookeeper != null) {
            connectString("lite.cluster.zookeeper", zookeeper);
        }
        range("lite.cluster.session-timeout", sessionTimeout, TIMEOUT_MIN, TIMEOUT_MAX);
        range("lite.cluster.connection-timeout", connectionTimeout, TIMEOUT_MIN, TIMEOUT_MAX);
        user("lite.cluster.auth.user", user);
    }

    /**
     * Checks the addresses of ZooKeeper, which may have a path at their end.
     *
     * @throws IllegalArgumentException if ZooKeeper's client cannot read them
     */
    public static void connectString(String property, String value) {
        try {
            if (!value.isBlank()
                    && !new ConnectStringParser(value).getServerAddresses().isEmpty()) {
                return;
            }
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "%s is \"%s\"; it must be host:port[,host:port...]: %s".formatted(property, value, e.getMessage()),
                    e);
        }
        throw new IllegalArgumentException(
                "%s is \"%s\"; it must be host:port[,host:port...]".formatted(property, value));
    }

    /**
     * Checks the name of a ZooKeeper user.
     *
     * @throws IllegalArgumentException if it is blank or has a colon
     */
    public static void user(String property, String value) {
        if (value.isBlank() || value.contains(":")) {
            throw new IllegalArgumentException(
                    "%s is \"%s\"; it must have at least one character, and no colon".formatted(property, value));
        }
    }
}
