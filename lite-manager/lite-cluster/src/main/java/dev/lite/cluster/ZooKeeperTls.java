package dev.lite.cluster;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.util.Collections;
import java.util.HexFormat;
import org.apache.zookeeper.client.ZKClientConfig;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Certificates for connections to ZooKeeper. ZooKeeper's client reads them from files at each connection, so they are written to a
 * directory that only this user may read, with a random password, until this is closed.
 */
final class ZooKeeperTls implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ZooKeeperTls.class);
    private static final String TYPE = "PKCS12";
    private static final int PASSWORD_BYTES = 24;

    private final Path directory;
    private final String password;
    private final ZKClientConfig config = new ZKClientConfig();

    private ZooKeeperTls(Path directory, String password) {
        this.directory = directory;
        this.password = password;
    }

    /**
     * Writes the certificates.
     *
     * @throws IllegalArgumentException if they cannot be used
     */
    static ZooKeeperTls of(CuratorConfig.Tls tls) {
        byte[] random = new byte[PASSWORD_BYTES];
        new SecureRandom().nextBytes(random);
        ZooKeeperTls made;
        try {
            // Files.createTempDirectory gives it the mode 0700.
            made = new ZooKeeperTls(
                    Files.createTempDirectory("lite-zookeeper-tls"),
                    HexFormat.of().formatHex(random));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a directory for the certificates for ZooKeeper", e);
        }
        try {
            made.write(tls);
            return made;
        } catch (GeneralSecurityException | IOException e) {
            made.close();
            throw new IllegalArgumentException("the certificates for ZooKeeper cannot be used: " + e.getMessage(), e);
        }
    }

    private void write(CuratorConfig.Tls tls) throws GeneralSecurityException, IOException {
        config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
        config.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
        config.setProperty("zookeeper.ssl.protocol", "TLSv1.3");
        config.setProperty("zookeeper.ssl.enabledProtocols", "TLSv1.3");
        put("trustStore", trusted(tls.trusted()));
        KeyStore own = tls.own();
        if (own == null) {
            config.setProperty("zookeeper.ssl.keyStore.location", ""); // also if a system property has one
        } else {
            put("keyStore", own(own, tls.keyPassword()));
        }
    }

    private void put(String kind, KeyStore store) throws GeneralSecurityException, IOException {
        Path file = directory.resolve(kind);
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, password.toCharArray());
        }
        config.setProperty("zookeeper.ssl." + kind + ".location", file.toString());
        config.setProperty("zookeeper.ssl." + kind + ".password", password);
        config.setProperty("zookeeper.ssl." + kind + ".type", TYPE);
    }

    private static KeyStore trusted(KeyStore from) throws GeneralSecurityException, IOException {
        KeyStore to = KeyStore.getInstance(TYPE);
        to.load(null, null);
        for (String alias : Collections.list(from.aliases())) {
            to.setCertificateEntry(alias, from.getCertificate(alias));
        }
        return to;
    }

    private KeyStore own(KeyStore from, @Nullable String keyPassword) throws GeneralSecurityException, IOException {
        KeyStore to = KeyStore.getInstance(TYPE);
        to.load(null, null);
        for (String alias : Collections.list(from.aliases())) {
            if (from.isKeyEntry(alias)) {
                Key key = from.getKey(alias, keyPassword == null ? null : keyPassword.toCharArray());
                to.setKeyEntry(alias, key, password.toCharArray(), from.getCertificateChain(alias));
            }
        }
        return to;
    }

    ZKClientConfig config() {
        return config;
    }

    @Override
    public void close() {
        for (String file : new String[] {"trustStore", "keyStore", ""}) {
            try {
                boolean unused = Files.deleteIfExists(directory.resolve(file));
            } catch (IOException e) {
                log.warn("cannot delete {}: {}", directory.resolve(file), e.toString());
            }
        }
    }
}
