package dev.lite.tier.channel;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.tier.peer.Peer;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One end of a channel, at the node of its application. Any thread. */
final class ChannelEnd {
    /** The number of the function at the caller's end, which has none. */
    static final long CALLER = -1;

    final SessionChannels session;
    /** In the session. */
    final long number;
    /** The function's number in the session, or {@link #CALLER}. */
    final long server;
    /** The connection to the node of the other end; null if that is this node, too. */
    final @Nullable Peer peer;
    /** Names the channel to both nodes. */
    final long tag;
    /** Completes when the serving application has taken the channel; fails when the channel ends before. */
    final CompletableFuture<Void> taken = new CompletableFuture<>();

    /** Whether a thread waits for the connection of the channel. */
    volatile boolean connecting;

    /** Whether the application has been told of the channel. Before that it must not be told of its end. */
    @GuardedBy("this")
    private boolean announced;

    /** Why the channel has ended; null: it has not. */
    @GuardedBy("this")
    private @Nullable String reason;

    /** Whether the application must be told of the end when the channel is announced. */
    @GuardedBy("this")
    private boolean untold;

    /** Why the channel was retired; null: it was not. */
    @GuardedBy("this")
    private @Nullable String retirement;

    ChannelEnd(SessionChannels session, long number, long server, @Nullable Peer peer, long tag) {
        this.session = session;
        this.number = number;
        this.server = server;
        this.peer = peer;
        this.tag = tag;
    }

    boolean isCaller() {
        return server == CALLER;
    }

    /** Ends the channel at this end; false if it has ended already. */
    boolean end(String why) {
        synchronized (this) {
            if (reason != null) {
                return false;
            }
            reason = why;
        }
        boolean unused = taken.completeExceptionally(new RpcFailedException(RpcStatus.REFUSED, why));
        return true;
    }

    /** The application must be told of the end: true: now; false: {@link #announce} says so. */
    synchronized boolean tellNow() {
        untold = !announced;
        return announced;
    }

    /** The application has been told of the channel. Returns why it has ended since, which the application must be told now. */
    synchronized @Nullable String announce() {
        announced = true;
        return untold ? reason : null;
    }

    /** Whether the application must be told now that the channel is retired. Before it is announced, {@link #retirement} says so. */
    synchronized boolean retire(String why) {
        if (retirement != null) {
            return false;
        }
        retirement = why;
        return announced;
    }

    /** Why the channel was retired before it was announced; null: it was not. */
    synchronized @Nullable String retirement() {
        return retirement;
    }

    /** Why the channel has ended; null: it has not. */
    synchronized @Nullable String reason() {
        return reason;
    }

    boolean isEnded() {
        return reason() != null;
    }
}
