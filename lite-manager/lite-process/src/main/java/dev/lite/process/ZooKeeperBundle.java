package dev.lite.process;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.process.StartException;
import java.security.KeyStore;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;

/** The certificates for connections to ZooKeeper, from a Spring SSL bundle. */
public final class ZooKeeperBundle {
    private static final String PROPERTY = "lite.cluster.ssl-bundle";

    private ZooKeeperBundle() {}

    /**
     * Reads a bundle.
     *
     * @param name its name; null for no TLS
     * @throws StartException if there is no such bundle, or it cannot be used
     */
    public static CuratorConfig.@Nullable Tls read(@Nullable String name, ObjectProvider<SslBundles> bundles) {
        if (name == null) {
            return null;
        }
        try {
            SslBundle bundle = bundles.getObject().getBundle(name);
            KeyStore trusted = bundle.getStores().getTrustStore();
            KeyStore own = bundle.getStores().getKeyStore();
            if (trusted == null) {
                throw new StartException(
                        "the SSL bundle \"%s\" of %s has no trusted certificates, so any server could say that it is ZooKeeper"
                                .formatted(name, PROPERTY),
                        "Set spring.ssl.bundle.pem.%s.truststore.certificate, or the truststore of .jks.%s."
                                .formatted(name, name),
                        null);
            }
            String password = bundle.getKey().getPassword();
            return new CuratorConfig.Tls(
                    trusted, own, password == null ? bundle.getStores().getKeyStorePassword() : password);
        } catch (NoSuchSslBundleException e) {
            throw new StartException(
                    "there is no SSL bundle \"%s\"".formatted(name),
                    "Define spring.ssl.bundle.pem.%s or .jks.%s, or correct %s.".formatted(name, name, PROPERTY),
                    e);
        } catch (IllegalStateException e) {
            throw new StartException(
                    "the SSL bundle \"%s\" cannot be used: %s".formatted(name, e.getMessage()),
                    "Correct spring.ssl.bundle for %s.".formatted(name),
                    e);
        }
    }
}
