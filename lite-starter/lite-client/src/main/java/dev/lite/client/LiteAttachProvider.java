package dev.lite.client;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.client.reattach.ReattachingLite;
import dev.lite.os.waiting.Deadline;
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

    /** The first node that accepts the session; throws the failure of all. They share the deadline. */
    private static Lite first(Lite.AttachOptions options, ClientConfig config, ClientCounts counts) {
        Deadline deadline = Deadline.ofCall(options.deadline());
        int left = 1 + options.alternatives().size();
        try {
            return LiteClient.attach(options, config, counts, left == 1 ? deadline : part(deadline, left));
        } catch (LiteException first) {
            LiteException last = first;
            for (Path alternative : options.alternatives()) {
                left--;
                try {
                    return LiteClient.attach(options.withSocket(alternative), config, counts, part(deadline, left));
                } catch (LiteException e) {
                    last = last.code().exception("%s; %s".formatted(last.getMessage(), e.getMessage()));
                }
            }
            throw last;
        }
    }

    /** The part of one of the nodes that are left: one that hangs leaves the others theirs. */
    private static Deadline part(Deadline deadline, int left) {
        return Deadline.in(deadline.remaining().dividedBy(left));
    }
}
