package dev.lite.fabric.driver;

import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Looks up hosts by name. The system's lookup blocks for as long as it wants, and nothing ends it. So it runs on
 * a daemon thread, and callers wait for it until their deadline. Callers that ask for the same host share a lookup.
 * Any thread.
 *
 * <p>Bound: {@value #UNDER_WAY_MAX} lookups, each with a thread: as many as a fabric has connections by default. A
 * lookup counts until the system has ended it.
 */
final class HostLookups {
    static final int UNDER_WAY_MAX = 256;

    /** The system's lookup. */
    @FunctionalInterface
    interface Resolver {
        /** Blocks. */
        InetAddress[] resolve(String host) throws UnknownHostException;
    }

    private final Resolver resolver;

    // Guarded by this object.
    private final Map<String, CompletableFuture<InetAddress[]>> underWay = new HashMap<>();
    private boolean stopped;

    /** @param resolver {@link InetAddress#getAllByName}, except in tests */
    HostLookups(Resolver resolver) {
        this.resolver = resolver;
    }

    /**
     * The addresses of a host, in the system's order. Returns at once if {@code host} is an address itself.
     *
     * @throws HandshakeException if there is none by the deadline, too many lookups are under way, or {@link #stop}
     *     was called
     */
    InetAddress[] find(String host, Deadline deadline) {
        try {
            return new InetAddress[] {InetAddress.ofLiteral(host)};
        } catch (IllegalArgumentException name) {
            // It needs a lookup.
        }
        try {
            return start(host).get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new HandshakeException(deadline.expired("looking up host '%s'".formatted(host)), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HandshakeException("interrupted", e);
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
            throw new HandshakeException(
                    cause instanceof UnknownHostException
                            ? "there is no host '%s'".formatted(host)
                            : String.valueOf(cause.getMessage()),
                    cause);
        }
    }

    private synchronized CompletableFuture<InetAddress[]> start(String host) {
        if (stopped) {
            throw closed();
        }
        CompletableFuture<InetAddress[]> shared = underWay.get(host);
        if (shared != null) {
            return shared;
        }
        if (underWay.size() == UNDER_WAY_MAX) {
            throw new HandshakeException(
                    "cannot look up host '%s': %d lookups are under way, the limit".formatted(host, UNDER_WAY_MAX));
        }
        var lookup = new CompletableFuture<InetAddress[]>();
        Thread thread = Thread.ofPlatform().daemon().name("lite-lookup").unstarted(() -> run(host, lookup));
        underWay.put(host, lookup);
        boolean started = false;
        try {
            thread.start();
            started = true;
        } finally {
            if (!started) { // no memory for another thread
                underWay.remove(host);
            }
        }
        return lookup;
    }

    private void run(String host, CompletableFuture<InetAddress[]> lookup) {
        try {
            lookup.complete(resolver.resolve(host));
        } catch (UnknownHostException | RuntimeException | Error e) { // anything, because callers wait
            Unrecoverable.report(e);
            lookup.completeExceptionally(e);
        } finally {
            synchronized (this) {
                underWay.remove(host);
            }
        }
    }

    /** Ends all waits with an error. Does not wait for the threads, which use nothing of the fabric. */
    void stop() {
        List<CompletableFuture<InetAddress[]>> waiting;
        synchronized (this) {
            stopped = true;
            waiting = List.copyOf(underWay.values());
        }
        waiting.forEach(lookup -> lookup.completeExceptionally(closed()));
    }

    private static HandshakeException closed() {
        return new HandshakeException("this node closed the fabric");
    }
}
