package dev.lite.cluster;

import java.time.Duration;
import java.util.regex.Pattern;

/**
 * How to reach a cluster's directory in ZooKeeper.
 *
 * @param connectString {@code host:port[,host:port…]}, host names rather than addresses where pods move
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}; clusters on one ZooKeeper do not see each other
 * @param sessionTimeout how long a process may be silent until its registration goes; the server may bound it
 * @param connectionTimeout how long one attempt to connect may take
 */
public record CuratorConfig(String connectString, String cluster, Duration sessionTimeout, Duration connectionTimeout) {
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

    /** With the default time-outs. */
    public static CuratorConfig of(String connectString, String cluster) {
        return new CuratorConfig(connectString, cluster, SESSION_TIMEOUT_DEFAULT, CONNECTION_TIMEOUT_DEFAULT);
    }

    private static void check(String what, Duration timeout) {
        if (timeout.compareTo(TIMEOUT_MIN) < 0 || timeout.compareTo(TIMEOUT_MAX) > 0) {
            throw new IllegalArgumentException(
                    "the %s is %s; it must be from %s to %s".formatted(what, timeout, TIMEOUT_MIN, TIMEOUT_MAX));
        }
    }
}
