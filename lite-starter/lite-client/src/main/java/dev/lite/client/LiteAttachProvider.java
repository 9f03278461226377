package dev.lite.client;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.client.reattach.ReattachingLite;
import java.nio.file.Path;

/** Opens the sessions of {@link Lite#attach}; the service loader finds it. */
public final class LiteAttachProvider implements Lite.AttachProvider {
    /** Called by the service loader. */
    public LiteAttachProvider() {}

    @Override
    public Lite attach(Lite.AttachOptions options) {
        ClientConfig config = ClientConfig.fromSystemProperties();
        ClientCounts counts = new ClientCounts(); // of all sessions
        return options.reattach()
                ? ReattachingLite.attach(options, again -> first(again, config, counts))
                : first(options, config, counts);
    }

    /** The first node that accepts the session; throws the failure of all. */
    private static Lite first(Lite.AttachOptions options, ClientConfig config, ClientCounts counts) {
        try {
            return LiteClient.attach(options, config, counts);
        } catch (LiteException first) {
            LiteException last = first;
            for (Path alternative : options.alternatives()) {
                try {
                    return LiteClient.attach(options.withSocket(alternative), config, counts);
                } catch (LiteException e) {
                    last = last.code().exception("%s; %s".formatted(last.getMessage(), e.getMessage()));
                }
            }
            throw last;
        }
    }
}
