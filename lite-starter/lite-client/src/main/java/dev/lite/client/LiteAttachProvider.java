package dev.lite.client;

import dev.lite.api.Lite;
import dev.lite.client.reattach.ReattachingLite;

/** Opens the sessions of {@link Lite#attach}; the service loader finds it. */
public final class LiteAttachProvider implements Lite.AttachProvider {
    /** Called by the service loader. */
    public LiteAttachProvider() {}

    @Override
    public Lite attach(Lite.AttachOptions options) {
        ClientConfig config = ClientConfig.fromSystemProperties();
        ClientCounts counts = new ClientCounts(); // of all sessions
        return options.reattach()
                ? ReattachingLite.attach(options, again -> LiteClient.attach(again, config, counts))
                : LiteClient.attach(options, config, counts);
    }
}
