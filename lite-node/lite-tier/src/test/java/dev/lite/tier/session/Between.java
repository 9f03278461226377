package dev.lite.tier.session;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Certificates;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;

/** What connects the nodes in tests of channels. Over TCP, they make a connection for each channel. */
enum Between {
    ONE_HOST {
        @Override
        FabricProvider fabric(Path directory) {
            return new ShmFabricProvider();
        }
    },
    TCP {
        @Override
        FabricProvider fabric(Path directory) {
            return new TcpFabricProvider();
        }
    },
    PLAIN_TCP {
        @Override
        FabricProvider fabric(Path directory) {
            return tcp(config -> {
                Map<String, String> options = new HashMap<>(config.options());
                options.put("protection", "none");
                return config.withOptions(options);
            });
        }
    },
    TLS {
        @Override
        FabricProvider fabric(Path directory) {
            SSLContext both = Certificates.make(directory, "both");
            return tcp(config -> {
                Map<String, String> options = new HashMap<>(config.options());
                options.put("verify-names", "false");
                return config.withOptions(options).withTls(both);
            });
        }
    };

    /** @param directory for files */
    abstract FabricProvider fabric(Path directory);

    private static FabricProvider tcp(UnaryOperator<FabricConfig> change) {
        FabricProvider driver = new TcpFabricProvider();
        return new FabricProvider() {
            @Override
            public String name() {
                return driver.name();
            }

            @Override
            public Optional<String> unavailable() {
                return driver.unavailable();
            }

            @Override
            public Fabric open(FabricConfig config, FabricHandler handler) {
                return driver.open(change.apply(config), handler);
            }
        };
    }
}
