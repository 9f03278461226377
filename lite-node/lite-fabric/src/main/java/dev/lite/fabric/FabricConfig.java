package dev.lite.fabric;

import java.nio.file.Path;
import java.util.Map;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * What a driver is opened with.
 *
 * @param node the local node's name
 * @param hello at most {@value #HELLO_BYTES_MAX} bytes that every peer receives when a connection is made; opaque to the
 *     driver
 * @param runDirectory where the driver may put sockets; exists
 * @param options the driver's own settings, checked by the driver at open
 * @param tls this node's certificate and the authorities that it trusts, for drivers whose bytes leave the host; null for none
 */
public record FabricConfig(
        String node,
        byte[] hello,
        Path runDirectory,
        Map<String, String> options,
        @Nullable SSLContext tls) {
    /** Upper limit of a hello, in bytes. */
    public static final int HELLO_BYTES_MAX = 256;

    /** Checks and copies. */
    public FabricConfig {
        if (hello.length > HELLO_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "the hello has %d bytes; the limit is %d".formatted(hello.length, HELLO_BYTES_MAX));
        }
        hello = hello.clone();
        options = Map.copyOf(options);
    }

    /** Without TLS. */
    public FabricConfig(String node, byte[] hello, Path runDirectory, Map<String, String> options) {
        this(node, hello, runDirectory, options, null);
    }

    @Override
    public byte[] hello() {
        return hello.clone();
    }

    /** The same with other options. */
    public FabricConfig withOptions(Map<String, String> newOptions) {
        return new FabricConfig(node, hello, runDirectory, newOptions, tls);
    }

    /** The same with TLS, or without it when null. */
    public FabricConfig withTls(@Nullable SSLContext context) {
        return new FabricConfig(node, hello, runDirectory, options, context);
    }

    /** Omits the values of the options, because one may be a secret. */
    @Override
    public String toString() {
        return "FabricConfig[node=%s, hello=%d bytes, runDirectory=%s, options=%s, tls=%s]"
                .formatted(node, hello.length, runDirectory, options.keySet(), tls != null);
    }
}
