package dev.lite.client;

import dev.lite.api.Lite;

/** What {@link Lite#attach} finds. */
public final class LiteAttachProvider implements Lite.AttachProvider {
    /** For the service loader. */
    public LiteAttachProvider() {}

    @Override
    public Lite attach(Lite.AttachOptions options) {
        return LiteClient.attach(options, ClientConfig.fromSystemProperties());
    }
}
