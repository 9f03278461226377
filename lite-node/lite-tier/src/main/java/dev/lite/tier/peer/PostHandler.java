package dev.lite.tier.peer;

import dev.lite.fabric.FabricError;
import org.jspecify.annotations.Nullable;

/** Handles the completions of one {@link Poster}'s posts. Runs on the polling thread; must neither block nor throw. */
@FunctionalInterface
public interface PostHandler {
    /** An accepted post completed ({@code error} is null) or failed. The payload is from the post's context. */
    void ended(long payload, @Nullable FabricError error);
}
