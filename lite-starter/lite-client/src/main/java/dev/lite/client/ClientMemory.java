package dev.lite.client;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.session.protocol.SessionMessage.Copy;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Free;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Map;
import dev.lite.session.protocol.SessionMessage.MapId;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Prepare;
import dev.lite.session.protocol.SessionMessage.Publish;
import dev.lite.session.protocol.SessionMessage.Unmap;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** {@link LtMemory} of a session. Any thread. */
final class ClientMemory implements LtMemory {
    private static final long NODE_MARGIN_NS_MAX = TimeUnit.MILLISECONDS.toNanos(500);

    private final Session session;

    ClientMemory(Session session) {
        this.session = session;
    }

    @Override
    public LmrHandle malloc(LmrSpec spec, Duration deadline) {
        long timeoutNs = LiteClient.toNanos(deadline);
        String what = spec.name() == null
                ? "malloc of %d bytes".formatted(spec.size())
                : "malloc of LMR \"%s\" (%d bytes)".formatted(spec.name(), spec.size());
        return new ClientHandle(
                session,
                session.requests()
                        .ask(
                                what,
                                Mapped.class,
                                timeoutNs,
                                id -> new Malloc(id, forNode(timeoutNs), spec),
                                // A malloc that timed out must leave nothing behind.
                                Free::new));
    }

    @Override
    public LmrHandle malloc(LmrSpec spec) {
        return malloc(spec, session.deadline());
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
        LmrSpec.checkName(name);
        if (permissions.isEmpty()) {
            throw new IllegalArgumentException(
                    "map of LMR \"%s\" without a permission; at least one is needed".formatted(name));
        }
        long timeoutNs = LiteClient.toNanos(deadline);
        Set<Permission> wanted = Set.copyOf(permissions);
        return new ClientHandle(
                session,
                session.requests()
                        .ask(
                                "map of LMR \"%s\"".formatted(name),
                                Mapped.class,
                                timeoutNs,
                                id -> new Map(id, forNode(timeoutNs), name, wanted),
                                Unmap::new));
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions) {
        return map(name, permissions, session.deadline());
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions, Duration deadline) {
        if (permissions.isEmpty()) {
            throw new IllegalArgumentException(
                    "map of LMR #%d without a permission; at least one is needed".formatted(id));
        }
        long timeoutNs = LiteClient.toNanos(deadline);
        Set<Permission> wanted = Set.copyOf(permissions);
        return new ClientHandle(
                session,
                session.requests()
                        .ask(
                                "map of LMR #" + id,
                                Mapped.class,
                                timeoutNs,
                                request -> new MapId(request, forNode(timeoutNs), id, wanted),
                                Unmap::new));
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions) {
        return map(id, permissions, session.deadline());
    }

    @Override
    public LmrHandle register(LmrSpec spec, MemorySegment segment) {
        if (spec.size() != segment.byteSize()) {
            throw new IllegalArgumentException("the segment has %d bytes, but the size of the LMR is %d"
                    .formatted(segment.byteSize(), spec.size()));
        }
        long timeoutNs = session.deadlineNs();
        Mapped prepared = session.requests()
                .ask(
                        "register of %d bytes".formatted(spec.size()),
                        Mapped.class,
                        timeoutNs,
                        request -> new Prepare(request, forNode(timeoutNs), spec),
                        Free::new);
        ClientHandle handle = new ClientHandle(session, prepared);
        boolean written = false;
        try {
            handle.write(0, segment);
            written = true;
        } finally {
            if (!written && session.isOpen()) {
                handle.free();
            }
        }
        session.requests()
                .ask(
                        "publication of a registered LMR of %d bytes".formatted(spec.size()),
                        Done.class,
                        timeoutNs,
                        request -> new Publish(request, forNode(timeoutNs), prepared.lh()),
                        null);
        return handle;
    }

    @Override
    public void memcpy(
            LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
        copy("memcpy", source, sourceOffset, destination, destinationOffset, length, false);
    }

    @Override
    public void memmove(
            LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
        copy("memmove", source, sourceOffset, destination, destinationOffset, length, true);
    }

    private void copy(
            String what,
            LmrHandle source,
            long sourceOffset,
            LmrHandle destination,
            long destinationOffset,
            long length,
            boolean overlapAllowed) {
        long from = own(source);
        long to = own(destination);
        boolean overlap = source.id() == destination.id() && Math.abs(sourceOffset - destinationOffset) < length;
        if (overlap && !overlapAllowed) {
            throw new IllegalArgumentException(
                    "memcpy within %s: %d bytes from offset %d and from offset %d overlap; use memmove"
                            .formatted(source, length, sourceOffset, destinationOffset));
        }
        long timeoutNs = session.deadlineNs();
        session.requests()
                .ask(
                        "%s of %d bytes from %s to %s".formatted(what, length, source, destination),
                        Done.class,
                        timeoutNs,
                        request -> new Copy(
                                request,
                                forNode(timeoutNs),
                                from,
                                sourceOffset,
                                to,
                                destinationOffset,
                                length,
                                overlapAllowed),
                        null);
    }

    private long own(LmrHandle handle) {
        if (handle instanceof ClientHandle own) {
            return own.lh(session);
        }
        throw new IllegalArgumentException("%s belongs to another session".formatted(handle));
    }

    @Override
    public void fence(Duration deadline) {
        session.async().fence(deadline);
    }

    /** A little less than the caller waits, so that the node's own message about a timeout still arrives. */
    static long forNode(long timeoutNs) {
        return timeoutNs - Math.min(timeoutNs / 5, NODE_MARGIN_NS_MAX);
    }
}
