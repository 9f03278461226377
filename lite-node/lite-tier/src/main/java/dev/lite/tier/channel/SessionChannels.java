package dev.lite.tier.channel;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.Peer;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The channels of one attached application, as caller and as server, by their numbers. Any thread. */
public final class SessionChannels implements AutoCloseable {
    /** The maximum number of channels through which an application calls. */
    public static final int CALLER_MAX = 32;

    /** The maximum number of channels through which an application is called. */
    public static final int SERVER_MAX = 32;

    /** An open takes at most this time: that of the serving application, and as much for both nodes. */
    private static final Duration OPEN_MAX = NodeChannels.ANSWER_MAX.multipliedBy(2);

    final String principal;
    final ChannelApplication application;
    private final NodeChannels node;

    @GuardedBy("this")
    private final Map<Long, ChannelEnd> ends = new HashMap<>();

    /** The ends that the application has taken as server. */
    @GuardedBy("this")
    private final Set<ChannelEnd> taken = new HashSet<>();

    @GuardedBy("this")
    private int callers;

    @GuardedBy("this")
    private long last;

    @GuardedBy("this")
    private boolean closed;

    SessionChannels(NodeChannels node, String principal, ChannelApplication application) {
        this.node = node;
        this.principal = principal;
        this.application = application;
    }

    /**
     * Opens a channel to a function. Waits for the application that serves it; a virtual thread.
     *
     * @param server the node that serves the function
     * @return the caller must call {@link OpenedChannel#announced}
     * @throws RpcFailedException if there can be no channel; the message says why
     * @throws LimitExceededException at a limit of this or the other application or node
     */
    public OpenedChannel open(String server, String function, Duration deadline) {
        return node.open(this, server, function, Deadline.in(deadline).atMost(OPEN_MAX));
    }

    /**
     * The application has taken an offered channel. Ends its receives that do not know that the function has channels. May be repeated.
     *
     * @throws RpcFailedException if no such channel was offered, or it has ended
     */
    public void taken(long channel) {
        ChannelEnd end;
        synchronized (this) {
            end = ends.get(channel);
            if (end == null || end.isCaller() || end.isEnded()) {
                throw new RpcFailedException(
                        RpcStatus.REFUSED,
                        "channel %d was not offered to this application, or has ended".formatted(channel));
            }
            taken.add(end);
            application.channels(end.server, true);
        }
        if (!end.taken.complete(null) && end.isEnded()) {
            throw new RpcFailedException(RpcStatus.REFUSED, "channel %d has ended".formatted(channel));
        }
    }

    /** The application has closed a channel, or refuses it. Does nothing if it has no channel of that number. */
    public void close(long channel) {
        ChannelEnd end = find(channel);
        if (end != null) {
            String who = end.isCaller() ? "calling" : "serving";
            node.end(end, "the %s application closed the channel".formatted(who), false, true);
        }
    }

    /** This application as the host of channels to a function that it serves under this number. */
    public ChannelHost host(long server) {
        return new ChannelHost(this, server);
    }

    /** The application has ended, and all its channels with it. Later ones are refused. Never blocks. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        for (ChannelEnd end : select(any -> true)) {
            String who = end.isCaller() ? "calling" : "serving";
            node.end(end, "the session of the %s application ended".formatted(who), false, true);
        }
    }

    void retireServer(long server, String reason) {
        for (ChannelEnd end : select(one -> one.server == server)) {
            if (isTaken(end)) {
                node.retire(end, reason);
            } else {
                node.end(end, reason, true, true);
            }
        }
    }

    private synchronized boolean isTaken(ChannelEnd end) {
        return taken.contains(end);
    }

    private synchronized List<ChannelEnd> select(Predicate<ChannelEnd> which) {
        return ends.values().stream().filter(which).toList();
    }

    private synchronized @Nullable ChannelEnd find(long channel) {
        return ends.get(channel);
    }

    /**
     * Adds an end within the limits.
     *
     * @param server the function's number, or {@link ChannelEnd#CALLER}
     */
    synchronized ChannelEnd add(long server, @Nullable Peer peer, long tag) {
        if (closed) {
            throw new RpcFailedException(RpcStatus.REFUSED, "the session of \"%s\" has ended".formatted(principal));
        }
        boolean caller = server == ChannelEnd.CALLER;
        int count = caller ? callers : ends.size() - callers;
        int max = caller ? CALLER_MAX : SERVER_MAX;
        if (count >= max) {
            throw new LimitExceededException("an application of \"%s\" %s through %d channels; the limit is %d"
                    .formatted(principal, caller ? "calls" : "is called", count, max));
        }
        ChannelEnd end = new ChannelEnd(this, ++last, server, peer, tag);
        ends.put(end.number, end);
        callers += caller ? 1 : 0;
        return end;
    }

    synchronized void remove(ChannelEnd end) {
        if (ends.remove(end.number, end)) {
            callers -= end.isCaller() ? 1 : 0;
        }
        if (taken.remove(end) && taken.stream().noneMatch(other -> other.server == end.server)) {
            application.channels(end.server, false);
        }
    }
}
