package dev.lite.tier.peer;

import dev.lite.fabric.FabricError;
import org.jspecify.annotations.Nullable;

/**
 * The handlers of immediates by kind, and of completions by poster: one array lookup each. Written before the links
 * start, then read by any polling thread.
 */
final class HandlerTable {
    private final @Nullable ImmediateHandler[] byKind = new @Nullable ImmediateHandler[ImmediateKind.COUNT_MAX];
    private final @Nullable PostHandler[] byPoster = new @Nullable PostHandler[Poster.COUNT_MAX];

    void register(ImmediateKind kind, ImmediateHandler handler) {
        if (byKind[kind.number()] != null) {
            throw new IllegalStateException("immediates of kind %s already have a handler".formatted(kind));
        }
        byKind[kind.number()] = handler;
    }

    void register(Poster poster, PostHandler handler) {
        if (byPoster[poster.number()] != null) {
            throw new IllegalStateException("posts of %s already have a handler".formatted(poster));
        }
        byPoster[poster.number()] = handler;
    }

    void arrived(Peer peer, int immediate) {
        ImmediateHandler handler = byKind[ImmediateKind.numberOf(immediate)];
        if (handler != null) {
            handler.arrived(peer, immediate & ImmediateKind.PAYLOAD_MAX);
        }
    }

    void ended(long context, @Nullable FabricError error) {
        PostHandler handler = byPoster[Poster.numberOf(context)];
        if (handler != null) {
            handler.ended(Poster.payloadOf(context), error);
        }
    }
}
