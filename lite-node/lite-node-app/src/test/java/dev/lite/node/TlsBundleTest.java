package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.cluster.process.StartException;
import dev.lite.testing.Certificates;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Map;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslStoreBundle;

class TlsBundleTest {
    @TempDir
    Path directory;

    private static SSLContext tls(@Nullable KeyStore own, @Nullable KeyStore trusted) {
        SslBundles bundles = new DefaultSslBundleRegistry(
                "cluster", SslBundle.of(SslStoreBundle.of(own, Certificates.PASSWORD, trusted)));
        return NodeConfiguration.tls(
                "cluster", new StaticListableBeanFactory(Map.of("bundles", bundles)).getBeanProvider(SslBundles.class));
    }

    /** Java's own authorities would be trusted: everybody with a certificate of a public web site. */
    @Test
    void aBundleWithoutTrustedCertificatesIsRefused() throws IOException, GeneralSecurityException {
        Object unused = Certificates.make(directory, "node");
        KeyStore store =
                KeyStore.getInstance(directory.resolve("node.p12").toFile(), Certificates.PASSWORD.toCharArray());
        assertThatExceptionOfType(StartException.class)
                .isThrownBy(() -> tls(store, null))
                .withMessageContaining(
                        "the SSL bundle \"cluster\" of lite.node.tcp.ssl-bundle has no trusted certificates");
        assertThat(tls(store, store)).isNotNull();
    }
}
