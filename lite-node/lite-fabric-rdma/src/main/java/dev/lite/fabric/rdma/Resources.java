package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricException;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.rdma.verbs.MemoryLock;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.os.OsException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The device resources of a node, one of each: the listener, a protection domain, a completion queue with its channel, and the registered
 * memory. They are created in this order and released in reverse order.
 */
final class Resources implements AutoCloseable {
    private final Verbs verbs;
    private final ConnectionManager manager;
    private long domain;
    private long channel;
    private long queue;
    private @Nullable OwnMemory memory;
    private @Nullable Completions completions;
    private @Nullable Announcements announcements;

    private Resources(Verbs verbs, ConnectionManager manager) {
        this.verbs = verbs;
        this.manager = manager;
    }

    /**
     * Creates all resources.
     *
     * @param entries length of the completion queue
     * @param requests see {@link ConnectionManager}
     * @throws FabricException if the device or the system refuses one; the message says which
     */
    static Resources open(
            String node,
            Verbs verbs,
            InetSocketAddress address,
            int entries,
            MemorySegment segment,
            Windows windows,
            Lanes lanes,
            Consumer<ConnectionManager.Id> requests) {
        ConnectionManager manager;
        try {
            manager = new ConnectionManager(node, verbs, address, requests);
        } catch (VerbsException | OsException e) {
            throw new FabricException(
                    "node %s cannot listen for peers at %s: %s".formatted(node, address, e.getMessage()), e);
        }
        var made = new Resources(verbs, manager);
        try {
            long context = manager.context();
            made.domain = verbs.allocateProtectionDomain(context);
            made.channel = verbs.createCompletionChannel(context);
            made.queue = verbs.createCompletionQueue(context, made.channel, entries);
            made.completions = new Completions(verbs, made.queue, entries, lanes);
            made.announcements = new Announcements(verbs, made.channel, made.queue, lanes);
            made.memory = OwnMemory.register(verbs, made.domain, segment, windows);
            return made;
        } catch (VerbsException | OsException e) {
            made.giveUp();
            throw new FabricException(
                    "node %s cannot use its RDMA device: %s (%s, %s and %s determine the length of the completion queue; %s)"
                            .formatted(
                                    node,
                                    e.getMessage(),
                                    ConnectionLimits.CONNECTIONS_MAX,
                                    RdmaOptions.LANES,
                                    RdmaOptions.QUEUE_DEPTH,
                                    MemoryLock.describe()),
                    e);
        } catch (RuntimeException | Error e) { // also without memory
            made.giveUp();
            throw e;
        }
    }

    /** Releases everything. Call only if no lane was made yet. */
    void giveUp() {
        manager.stop();
        try {
            close();
        } finally {
            if (announcements != null) {
                announcements.close();
            }
        }
    }

    Verbs verbs() {
        return verbs;
    }

    ConnectionManager manager() {
        return manager;
    }

    long domain() {
        return domain;
    }

    long completionQueue() {
        return queue;
    }

    /** The announcements. The caller closes them after {@link #close}, when no thread waits any more. */
    Announcements announcements() {
        return java.util.Objects.requireNonNull(announcements);
    }

    Completions completions() {
        return java.util.Objects.requireNonNull(completions);
    }

    /** Takes the available completions and keeps them for the poll role. For threads that wait without holding the poll role. */
    void keepCompletions() {
        completions().keep();
    }

    OwnMemory memory() {
        return java.util.Objects.requireNonNull(memory);
    }

    /** Releases only the registered memory, while a thread still uses the other resources. */
    void closeMemory() {
        var registered = memory;
        memory = null;
        if (registered != null) {
            registered.close();
        }
    }

    /** Releases everything but the announcements. Call after {@link ConnectionManager#stop}, when all lanes are destroyed. */
    @Override
    public void close() {
        if (completions != null) {
            completions.close();
        }
        try {
            closeMemory();
        } finally { // also if the device does not release all of it
            closeDevice();
        }
    }

    private void closeDevice() {
        if (queue != 0) {
            verbs.destroyCompletionQueue(queue);
        }
        if (channel != 0) {
            verbs.destroyCompletionChannel(channel);
        }
        if (domain != 0) {
            verbs.freeProtectionDomain(domain);
        }
        manager.close();
    }
}
