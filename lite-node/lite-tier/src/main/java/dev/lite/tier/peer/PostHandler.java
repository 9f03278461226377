package dev.lite.tier.peer;

import dev.lite.fabric.FabricError;
import org.jspecify.annotations.Nullable;

/** Takes the ends of one {@link Poster}'s posts. Runs on the thread that polls; must neither block nor throw. */
@FunctionalInterface
public interface PostHandler {
    /** An accepted post is done ({@code error} null) or failed; the payload is of its context. */
    void ended(long payload, @Nullable FabricError error);
}
