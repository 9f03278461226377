package dev.lite.cluster;

import dev.lite.cluster.process.PropertyChecks;
import dev.lite.cluster.process.Trust;
import dev.lite.os.waiting.Durations;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The connection to a cluster's directory in ZooKeeper.
 *
 * @param connectString {@code host:port[,host:port…]}, with host names rather than addresses where addresses change
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}; clusters on one ZooKeeper are isolated by name
 * @param sessionTimeout how long a process may be silent before its registration is removed; the server may limit it
 * @param connectionTimeout how long one attempt to connect may take
 * @param credentials the ZooKeeper user; only this user may access what it creates. Null: every client of ZooKeeper may
 *     read and change the cluster
 * @param signing the cluster's secret, with which records are signed; null: nothing is signed or checked
 * @param tls the certificates for connections to ZooKeeper; null: they are not encrypted
 */
public record CuratorConfig(
        String connectString,
        String cluster,
        Duration sessionTimeout,
        Duration connectionTimeout,
        @Nullable Credentials credentials,
        @Nullable Signing signing,
        @Nullable Tls tls) {
    /** The session timeout when none is configured. */
    public static final Duration SESSION_TIMEOUT_DEFAULT = Duration.ofSeconds(6);

    /** The connection timeout when none is configured. */
    public static final Duration CONNECTION_TIMEOUT_DEFAULT = Duration.ofSeconds(5);

    private static final Pattern CLUSTER = Pattern.compile("[A-Za-z0-9._-]{1,63}");
    private static final Duration TIMEOUT_MIN = Duration.ofMillis(100);
    private static final Duration TIMEOUT_MAX = Duration.ofHours(1);

    /** Validates. */
    public CuratorConfig {
        PropertyChecks.connectString("the ZooKeeper connect string", connectString);
        if (!CLUSTER.matcher(cluster).matches() || cluster.equals(".") || cluster.equals("..")) {
            throw new IllegalArgumentException(
                    "the cluster name \"%s\" is not 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(cluster));
        }
        check("session timeout", sessionTimeout);
        check("connection timeout", connectionTimeout);
    }

    /**
     * A user of ZooKeeper's scheme {@code digest}. All processes of a cluster are the same user.
     *
     * @param user one or more characters without a colon
     * @param password one or more characters; never part of a message
     */
    public record Credentials(String user, String password) {
        /** Validates. */
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
         * Reads the credentials from configuration values.
         *
         * @param property the common prefix of the two property names, for messages
         * @param user of the digest scheme
         * @param password the password, or null
         * @param file a file with the password, instead of {@code password}; trailing line breaks are ignored
         * @return null when none is configured
         */
        public static @Nullable Credentials of(
                String property, String user, @Nullable String password, @Nullable Path file) {
            if (password != null && file != null) {
                throw new IllegalArgumentException(
                        "%s.password and %s.password-file are both set; set only one".formatted(property, property));
            }
            if (file == null) {
                return password == null ? null : new Credentials(user, password);
            }
            Trust.checkSecretFile(property + ".password-file", file);
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

    /**
     * How records are signed.
     *
     * @param secret the cluster's secret; while it changes, it has two lines: records are signed with the first one, and accepted with
     *     both
     * @param acceptUnsigned whether records without a signature are accepted, too, while a cluster without a secret gets one
     */
    public record Signing(String secret, boolean acceptUnsigned) {
        private static final int LINES_MAX = 2;
        private static final int BYTES_MIN = 16;

        /** Validates. */
        public Signing {
            long lines = secret.lines().count();
            if (lines < 1
                    || lines > LINES_MAX
                    || secret.lines().anyMatch(line -> line.getBytes(StandardCharsets.UTF_8).length < BYTES_MIN)) {
                throw new IllegalArgumentException(
                        "the cluster's secret has %d lines; it must have one, or two while it changes, each of at least %d bytes"
                                .formatted(lines, BYTES_MIN));
            }
        }

        /**
         * Reads the secret from configuration values.
         *
         * @param property the common prefix of the property names, for messages
         * @param secret the secret, or null
         * @param file a file with the secret, instead of {@code secret}; trailing line breaks are ignored
         * @return null when none is configured
         */
        public static @Nullable Signing of(
                String property, @Nullable String secret, @Nullable Path file, boolean acceptUnsigned) {
            if (secret != null && file != null) {
                throw new IllegalArgumentException(
                        "%s.secret and %s.secret-file are both set; set only one".formatted(property, property));
            }
            if (file == null) {
                return secret == null ? null : new Signing(secret, acceptUnsigned);
            }
            Trust.checkSecretFile(property + ".secret-file", file);
            try {
                return new Signing(Files.readString(file).stripTrailing(), acceptUnsigned);
            } catch (IOException e) {
                throw new UncheckedIOException("%s.secret-file %s cannot be read".formatted(property, file), e);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(
                        "%s.secret-file %s: %s".formatted(property, file, e.getMessage()), e);
            }
        }

        /** Without the secret. */
        @Override
        public String toString() {
            return "Signing[acceptUnsigned=%s]".formatted(acceptUnsigned);
        }
    }

    /**
     * Certificates for connections to ZooKeeper. The name in the server's certificate must be that of the connect string.
     *
     * @param trusted the certificates of authorities that this process trusts
     * @param own this process's key and certificate, if ZooKeeper requires one; else null
     * @param keyPassword of the key in {@code own}; null for none
     */
    public record Tls(
            KeyStore trusted,
            @Nullable KeyStore own,
            @Nullable String keyPassword) {
        /** Without the password. */
        @Override
        public String toString() {
            return "Tls[own=%s]".formatted(own != null);
        }
    }

    /** Uses the default timeouts and no credentials. */
    public static CuratorConfig of(String connectString, String cluster) {
        return new CuratorConfig(connectString, cluster, SESSION_TIMEOUT_DEFAULT, CONNECTION_TIMEOUT_DEFAULT);
    }

    /** Uses no credentials. */
    public CuratorConfig(String connectString, String cluster, Duration sessionTimeout, Duration connectionTimeout) {
        this(connectString, cluster, sessionTimeout, connectionTimeout, null, null, null);
    }

    /** Signs nothing and does not use TLS. */
    public CuratorConfig(
            String connectString,
            String cluster,
            Duration sessionTimeout,
            Duration connectionTimeout,
            @Nullable Credentials credentials) {
        this(connectString, cluster, sessionTimeout, connectionTimeout, credentials, null, null);
    }

    /** The same configuration with these credentials. */
    public CuratorConfig withCredentials(@Nullable Credentials newCredentials) {
        return new CuratorConfig(
                connectString, cluster, sessionTimeout, connectionTimeout, newCredentials, signing, tls);
    }

    /** The same configuration with signed records, or without if null. */
    public CuratorConfig withSigning(@Nullable Signing newSigning) {
        return new CuratorConfig(
                connectString, cluster, sessionTimeout, connectionTimeout, credentials, newSigning, tls);
    }

    /** The same configuration with TLS, or without it if null. */
    public CuratorConfig withTls(@Nullable Tls newTls) {
        return new CuratorConfig(
                connectString, cluster, sessionTimeout, connectionTimeout, credentials, signing, newTls);
    }

    private static void check(String what, Duration timeout) {
        if (timeout.compareTo(TIMEOUT_MIN) < 0 || timeout.compareTo(TIMEOUT_MAX) > 0) {
            throw new IllegalArgumentException("the %s is %s; it must be from %s to %s"
                    .formatted(
                            what, Durations.text(timeout), Durations.text(TIMEOUT_MIN), Durations.text(TIMEOUT_MAX)));
        }
    }
}
