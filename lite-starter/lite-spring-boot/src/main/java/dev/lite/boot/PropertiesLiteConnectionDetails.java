package dev.lite.boot;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The connection details that {@code lite.client.*} names. */
final class PropertiesLiteConnectionDetails implements LiteConnectionDetails {

    private final LiteClientProperties properties;

    PropertiesLiteConnectionDetails(LiteClientProperties properties) {
        this.properties = properties;
    }

    @Override
    public Path getSocket() {
        return properties.socket();
    }

    @Override
    public List<Path> getAlternativeSockets() {
        return properties.alternativeSockets();
    }

    @Override
    public @Nullable String getToken() {
        return properties.token();
    }
}
