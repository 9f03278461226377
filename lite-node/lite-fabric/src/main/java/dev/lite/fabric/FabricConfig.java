package dev.lite.fabric;

import java.nio.file.Path;
import java.util.Map;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a fabric.
 *
 * @param node the local node's name
 * @param hello at most {@value #HELLO_BYTES_MAX} bytes that every peer receives when a connection is made; opaque to the
 *     driver
 * @param runDirectory an existing directory in which the driver may create sockets
 * @param options the driver's own settings, checked by the driver at open
 * @param identity proves to peers which node this is; null: peers prove only that they belong to the cluster
 * @param tls this node's certificate and the authorities that it trusts, for drivers that reach other hosts; null for no TLS
 */
public record FabricConfig(
        String node,
        byte[] hello,
        Path runDirectory,
        Map<String, String> options,
        @Nullable FabricIdentity identity,
        @Nullable SSLContext tls) {
    /** Upper limit of a hello, in bytes. */
    public static final int HELLO_BYTES_MAX = 256;

    /** Checks the values and copies them. */
    public FabricConfig {
        if (hello.length > HELLO_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "the hello has %d bytes; the limit is %d".formatted(hello.length, HELLO_BYTES_MAX));
        }
        hello = hello.clone();
        options = Map.copyOf(options);
    }

    /** Makes a configuration without an identity and without TLS. */
    public FabricConfig(String node, byte[] hello, Path runDirectory, Map<String, String> options) {
        this(node, hello, runDirectory, options, null, null);
    }

    @Override
    public byte[] hello() {
        return hello.clone();
    }

    /** A copy with other options. */
    public FabricConfig withOptions(Map<String, String> newOptions) {
        return new FabricConfig(node, hello, runDirectory, newOptions, identity, tls);
    }

    /** A copy with TLS, or without it if null. */
    public FabricConfig withTls(@Nullable SSLContext context) {
        return new FabricConfig(node, hello, runDirectory, options, identity, context);
    }

    /** A copy with an identity, or without one if null. */
    public FabricConfig withIdentity(@Nullable FabricIdentity newIdentity) {
        return new FabricConfig(node, hello, runDirectory, options, newIdentity, tls);
    }

    /** Omits the values of the options, because one may be a secret. */
    @Override
    public String toString() {
        return "FabricConfig[node=%s, hello=%d bytes, runDirectory=%s, options=%s, tls=%s]"
                .formatted(node, hello.length, runDirectory, options.keySet(), tls != null);
    }
}
