package dev.lite.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Certificates for tests, made by the JDK's keytool. A call takes about a second for each run of that tool. */
public final class Certificates {
    /** Of every store. */
    public static final String PASSWORD = "changeit";

    private static final String AUTHORITY = "authority";

    private Certificates() {}

    /** A context with a new key, which trusts only its own certificate. */
    public static SSLContext make(Path directory, String name) {
        Path file = directory.resolve(name + ".p12");
        keytool(file, "-genkeypair", "-alias", name, "-keyalg", "EC", "-dname", "CN=" + name, "-validity", "2");
        return context(file, file, name);
    }

    /** A new authority. */
    public static Authority authority(Path directory) {
        Path file = directory.resolve("authority.p12");
        keytool(
                file,
                "-genkeypair",
                "-alias",
                AUTHORITY,
                "-keyalg",
                "EC",
                "-dname",
                "CN=authority",
                "-ext",
                "bc:c",
                "-startdate",
                "-30d",
                "-validity",
                "40");
        return new Authority(directory, file);
    }

    /**
     * An authority.
     *
     * @param directory of its certificates
     * @param file its own store
     */
    public record Authority(Path directory, Path file) {
        /**
         * A context with a new key and a certificate of this authority, which trusts this authority; also as {@link #store}.
         *
         * @param san the DNS name in the certificate
         * @param fromDay when it begins to be valid: days from now
         * @param days how long it is valid
         */
        public SSLContext issue(String name, String san, int fromDay, int days) {
            keytool(
                    file,
                    "-genkeypair",
                    "-alias",
                    name,
                    "-signer",
                    AUTHORITY,
                    "-keyalg",
                    "EC",
                    "-dname",
                    "CN=" + name,
                    "-ext",
                    "SAN=dns:" + san,
                    "-startdate",
                    "%+dd".formatted(fromDay),
                    "-validity",
                    Integer.toString(days));
            try {
                KeyStore all = load(file);
                KeyStore own = empty();
                own.setKeyEntry(
                        name,
                        all.getKey(name, PASSWORD.toCharArray()),
                        PASSWORD.toCharArray(),
                        all.getCertificateChain(name));
                own.setCertificateEntry(AUTHORITY, all.getCertificate(AUTHORITY));
                try (OutputStream out = Files.newOutputStream(store(name))) {
                    own.store(out, PASSWORD.toCharArray());
                }
            } catch (IOException | GeneralSecurityException e) {
                throw new AssertionError(e);
            }
            return context(store(name), file, AUTHORITY);
        }

        /** The PKCS12 store of what was {@linkplain #issue issued}: the key, and the authority as trusted. */
        public Path store(String name) {
            return directory.resolve(name + "-issued.p12");
        }
    }

    private static void keytool(Path store, String... arguments) {
        try {
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-J-XX:TieredStopAtLevel=1",
                    "-J-XX:+UseSerialGC"));
            command.addAll(List.of(arguments));
            command.addAll(List.of("-storetype", "PKCS12", "-keystore", store.toString(), "-storepass", PASSWORD));
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new AssertionError(said);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** @param trusted the alias of the only trusted certificate, in {@code trustedIn} */
    private static SSLContext context(Path own, Path trustedIn, String trusted) {
        try {
            KeyStore keys = load(own);
            KeyStore trust = empty();
            trust.setCertificateEntry(trusted, load(trustedIn).getCertificate(trusted));
            var keyManagers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keyManagers.init(keys, PASSWORD.toCharArray());
            var trustManagers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trustManagers.init(trust);
            var context = SSLContext.getInstance("TLS");
            context.init(keyManagers.getKeyManagers(), trustManagers.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    private static KeyStore empty() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static KeyStore load(Path file) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD.toCharArray());
        }
        return store;
    }
}
