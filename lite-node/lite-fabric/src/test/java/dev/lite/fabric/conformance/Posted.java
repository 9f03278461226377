package dev.lite.fabric.conformance;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.Post;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One post with its answer and its completion. Written by the posting and the polling thread. */
final class Posted {
    /** Posts an operation to an endpoint with a context. */
    @FunctionalInterface
    interface Operation {
        Post to(FabricEndpoint endpoint, long context);
    }

    final FabricEndpoint endpoint;
    final long context;
    private final AtomicInteger endings = new AtomicInteger();

    @Nullable
    private volatile Post answer;

    @Nullable
    private volatile FabricError error;

    Posted(FabricEndpoint endpoint, long context) {
        this.endpoint = endpoint;
        this.context = context;
    }

    void answered(Post post) {
        answer = post;
    }

    void end(@Nullable FabricError how) {
        error = how;
        endings.incrementAndGet();
    }

    /** The answer to the post; null if it threw. */
    @Nullable
    Post answer() {
        return answer;
    }

    boolean wasTaken() {
        return answer == Post.DONE || answer == Post.ACCEPTED;
    }

    /** Whether no completion is outstanding. */
    boolean isOver() {
        return answer != Post.ACCEPTED || endings.get() > 0;
    }

    boolean succeeded() {
        return answer == Post.DONE || (answer == Post.ACCEPTED && endings.get() > 0 && error == null);
    }

    /** Number of excess (positive) or missing (negative) completions and failures. */
    int surplus() {
        return endings.get() - (answer == Post.ACCEPTED ? 1 : 0);
    }

    @Override
    public String toString() {
        return "post %d to %s answered %s, ended %d times, error %s"
                .formatted(context, endpoint, answer, endings.get(), error);
    }
}
