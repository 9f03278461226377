package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricStream;
import dev.lite.fabric.driver.Arrivals;
import dev.lite.fabric.driver.LaneConnector;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.os.Linux;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The streams of a connection. The side that made the connection opens each on a thread of its own, so that it does not matter on which
 * thread the caller waits. At most {@value #OPENING_MAX} at a time. Any thread.
 */
final class Streams {
    /** Each has a thread. */
    static final int OPENING_MAX = 16;

    /** Connects to the peer. */
    @FunctionalInterface
    interface Opener {
        /**
         * Starts to open a stream. Does not block.
         *
         * @param timeout nothing is made later
         * @param over called once, by any thread, with the stream, which it owns; with null if there is none
         */
        void start(LaneConnector.Peer peer, long tag, Duration timeout, Consumer<@Nullable FabricStream> over);
    }

    private final boolean accepts;
    private final Opener opener;
    private final Arrivals<FabricStream> arrivals = new Arrivals<>(Streams::close);
    private volatile LaneConnector.@Nullable Peer peer;

    // Guarded by this object.
    private final Set<Opening> openings = new HashSet<>();
    private boolean ended;

    /** @param accepts whether the peer made the connection, and so connects for each stream */
    Streams(boolean accepts, Opener opener) {
        this.accepts = accepts;
        this.opener = opener;
    }

    /** The connection's number in the claim of a stream; 0 before {@link #begin}. For tests. */
    long number() {
        var known = peer;
        return known == null ? 0 : known.number();
    }

    /** The peer is known; streams may arrive. */
    void begin(LaneConnector.Peer known) {
        peer = known;
    }

    /** Whether a stream is for this connection: the peer made both. */
    boolean takes(LaneHandshake.Claim claim) {
        var known = peer;
        return accepts && known != null && known.number() == claim.low() && Arrays.equals(known.hello(), claim.hello());
    }

    /** Keeps a stream until it is taken. */
    void arrived(long tag, FabricStream stream) {
        arrivals.keep(tag, stream);
    }

    /** {@link dev.lite.fabric.FabricEndpoint#openStream}. */
    @Nullable
    FabricStream open(long tag, long timeoutNs) {
        return accepts ? arrivals.take(tag, timeoutNs) : connect(tag, timeoutNs);
    }

    private @Nullable FabricStream connect(long tag, long timeoutNs) {
        var known = peer;
        var started = new Opening(tag);
        synchronized (this) {
            if (known == null || ended || openings.size() == OPENING_MAX) {
                return null;
            }
            openings.add(started);
        }
        opener.start(known, tag, Duration.ofNanos(Math.max(0, timeoutNs)), stream -> over(started, stream));
        return started.await(timeoutNs);
    }

    /** {@link dev.lite.fabric.FabricEndpoint#dropStream}. */
    void drop(long tag) {
        if (accepts) {
            arrivals.drop(tag);
            return;
        }
        List<Opening> unwanted;
        synchronized (this) {
            unwanted = openings.stream().filter(opening -> opening.tag == tag).toList();
        }
        unwanted.forEach(opening -> opening.complete(null));
    }

    private void over(Opening opening, @Nullable FabricStream stream) {
        synchronized (this) {
            openings.remove(opening);
        }
        opening.complete(stream);
    }

    /** A stream for which a thread connects, and another one may wait. */
    private static final class Opening {
        private final long tag;
        private final CompletableFuture<@Nullable FabricStream> result = new CompletableFuture<>();

        Opening(long tag) {
            this.tag = tag;
        }

        /** The first call decides. */
        void complete(@Nullable FabricStream stream) {
            if (!result.complete(stream) && stream != null) { // nobody waits any more
                close(stream);
            }
        }

        @Nullable
        FabricStream await(long timeoutNs) {
            try {
                return result.get(timeoutNs, TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (TimeoutException | ExecutionException e) {
                // None; but it may just have come.
            }
            complete(null);
            return result.join();
        }
    }

    /** Ends all waits, and closes what was not taken and what still comes. Idempotent. */
    void end() {
        List<Opening> waiting;
        synchronized (this) {
            ended = true;
            waiting = List.copyOf(openings);
        }
        waiting.forEach(opening -> opening.complete(null));
        arrivals.close();
    }

    /** Closes a stream that nobody has taken. */
    static void close(FabricStream stream) {
        Linux.closeDescriptor(stream.descriptor());
    }
}
