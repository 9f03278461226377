package dev.lite.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How to reach a cluster's directory in ZooKeeper.
 *
 * @param connectString {@code host:port[,host:port…]}, host names rather than addresses where pods move
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}; clusters on one ZooKeeper do not see each other
 * @param sessionTimeout how long a process may be silent until its registration goes; the server may bound it
 * @param connectionTimeout how long one attempt to connect may take
 * @param credentials who this is for ZooKeeper; what it makes belongs to that user alone. Null: everybody who reaches ZooKeeper
 *     may read and change the cluster
 */
public record CuratorConfig(
        String connectString,
        String cluster,
        Duration sessionTimeout,
        Duration connectionTimeout,
        @Nullable Credentials credentials) {
    /** The session time-out when none is configured. */
    public static final Duration SESSION_TIMEOUT_DEFAULT = Duration.ofSeconds(6);

    /** The connection time-out when none is configured. */
    public static final Duration CONNECTION_TIMEOUT_DEFAULT = Duration.ofSeconds(5);

    private static final Pattern CLUSTER = Pattern.compile("[A-Za-z0-9._-]{1,63}");
    private static final Duration TIMEOUT_MIN = Duration.ofMillis(100);
    private static final Duration TIMEOUT_MAX = Duration.ofHours(1);

    /** Checks. */
    public CuratorConfig {
        if (connectString.isBlank()) {
            throw new IllegalArgumentException("the ZooKeeper connect string is blank; it is host:port[,host:port…]");
        }
        if (!CLUSTER.matcher(cluster).matches() || cluster.equals(".") || cluster.equals("..")) {
            throw new IllegalArgumentException(
                    "the cluster name \"%s\" is not 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(cluster));
        }
        check("session time-out", sessionTimeout);
        check("connection time-out", connectionTimeout);
    }

    /**
     * A user of ZooKeeper's scheme {@code digest}. All processes of a cluster are the same user.
     *
     * @param user one or more characters without a colon
     * @param password one or more characters; is never a part of a message
     */
    public record Credentials(String user, String password) {
        /** Checks. */
        public Credentials {
            if (user.isBlank() || user.contains(":")) {
                throw new IllegalArgumentException("the ZooKeeper user \"%s\" is blank or has a colon".formatted(user));
            }
            if (password.isEmpty()) {
                throw new IllegalArgumentException(
                        "the password of the ZooKeeper user \"%s\" is empty".formatted(user));
            }
        }

        /**
         * As configured.
         *
         * @param property what begins the names of the two properties, for messages
         * @param user of the digest scheme
         * @param password the password, or null
         * @param file holds the password, instead of {@code password}; line ends after it do not count
         * @return null when neither is given
         */
        public static @Nullable Credentials of(
                String property, String user, @Nullable String password, @Nullable Path file) {
            if (password != null && file != null) {
                throw new IllegalArgumentException(
                        "%s.password and %s.password-file are both set; one is enough".formatted(property, property));
            }
            if (file == null) {
                return password == null ? null : new Credentials(user, password);
            }
            try {
                return new Credentials(user, Files.readString(file).stripTrailing());
            } catch (IOException e) {
                throw new UncheckedIOException("%s.password-file %s cannot be read".formatted(property, file), e);
            }
        }

        /** Without the password. */
        @Override
        public String toString() {
            return "Credentials[user=%s, password=given]".formatted(user);
        }
    }

    /** With the default time-outs and without credentials. */
    public static CuratorConfig of(String connectString, String cluster) {
        return new CuratorConfig(connectString, cluster, SESSION_TIMEOUT_DEFAULT, CONNECTION_TIMEOUT_DEFAULT);
    }

    /** Without credentials. */
    public CuratorConfig(String connectString, String cluster, Duration sessionTimeout, Duration connectionTimeout) {
        this(connectString, cluster, sessionTimeout, connectionTimeout, null);
    }

    /** As this user. */
    public CuratorConfig withCredentials(@Nullable Credentials newCredentials) {
        return new CuratorConfig(connectString, cluster, sessionTimeout, connectionTimeout, newCredentials);
    }

    private static void check(String what, Duration timeout) {
        if (timeout.compareTo(TIMEOUT_MIN) < 0 || timeout.compareTo(TIMEOUT_MAX) > 0) {
            throw new IllegalArgumentException(
                    "the %s is %s; it must be from %s to %s".formatted(what, timeout, TIMEOUT_MIN, TIMEOUT_MAX));
        }
    }
}
