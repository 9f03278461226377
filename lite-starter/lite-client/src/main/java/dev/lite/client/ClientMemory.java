package dev.lite.client;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Durations;
import dev.lite.session.protocol.SessionMessage.Copy;
import dev.lite.session.protocol.SessionMessage.CreateOrMap;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Map;
import dev.lite.session.protocol.SessionMessage.MapId;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Prepare;
import dev.lite.session.protocol.SessionMessage.Publish;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;

/** {@link LtMemory} of a session. Any thread. */
final class ClientMemory implements LtMemory {
    private final Session session;

    ClientMemory(Session session) {
        this.session = session;
    }

    @Override
    public LmrHandle malloc(LmrSpec spec, Duration deadline) {
        long timeoutNs = LiteClient.toNanos(deadline);
        String what = Objects.requireNonNull(spec, "spec").name() == null
                ? "malloc of %d bytes".formatted(spec.size())
                : "malloc of LMR \"%s\" (%d bytes)".formatted(spec.name(), spec.size());
        return new ClientHandle(
                session,
                session.requests()
                        .ask(
                                what,
                                Mapped.class,
                                timeoutNs,
                                id -> new Malloc(id, Session.forNode(timeoutNs), spec),
                                // A malloc that timed out must leave nothing behind.
                                session::free));
    }

    @Override
    public LmrHandle malloc(LmrSpec spec) {
        return malloc(spec, session.deadline());
    }

    @Override
    public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration deadline) {
        LtMemory.checkCreateOrMap(spec, permissions);
        long timeoutNs = LiteClient.toNanos(deadline);
        Set<Permission> wanted = Set.copyOf(permissions);
        return new ClientHandle(
                session,
                session.requests()
                        .ask(
                                "createOrMap of LMR \"%s\" (%d bytes)".formatted(spec.name(), spec.size()),
                                Mapped.class,
                                timeoutNs,
                                id -> new CreateOrMap(id, Session.forNode(timeoutNs), spec, wanted),
                                // The LMR may be in use by others already, so a late handle is only unmapped.
                                session::unmap));
    }

    @Override
    public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions) {
        return createOrMap(spec, permissions, session.deadline());
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
        LtMemory.checkMap(name, permissions);
        long timeoutNs = LiteClient.toNanos(deadline);
        Set<Permission> wanted = Set.copyOf(permissions);
        return new ClientHandle(
                session,
                session.requests()
                        .ask(
                                "map of LMR \"%s\"".formatted(name),
                                Mapped.class,
                                timeoutNs,
                                id -> new Map(id, Session.forNode(timeoutNs), name, wanted),
                                session::unmap));
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions) {
        return map(name, permissions, session.deadline());
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions, Duration deadline) {
        LtMemory.checkMap(id, permissions);
        long timeoutNs = LiteClient.toNanos(deadline);
        Set<Permission> wanted = Set.copyOf(permissions);
        return new ClientHandle(
                session,
                session.requests()
                        .ask(
                                "map of LMR #" + id,
                                Mapped.class,
                                timeoutNs,
                                request -> new MapId(request, Session.forNode(timeoutNs), id, wanted),
                                session::unmap));
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions) {
        return map(id, permissions, session.deadline());
    }

    @Override
    public LmrHandle register(LmrSpec spec, MemorySegment segment) {
        LtMemory.checkRegister(spec, segment);
        Segments.requireReadable("segment", segment);
        long timeoutNs = session.deadlineNs();
        Mapped prepared = session.requests()
                .ask(
                        "register of %d bytes".formatted(spec.size()),
                        Mapped.class,
                        timeoutNs,
                        request -> new Prepare(request, Session.forNode(timeoutNs), spec),
                        session::free);
        ClientHandle handle = new ClientHandle(session, prepared);
        boolean written = false;
        boolean published = false;
        try {
            handle.write(0, segment);
            written = true;
            publish(spec, prepared.lh());
            published = true;
        } finally {
            try {
                if (!written && session.isOpen()) {
                    handle.free();
                }
            } finally {
                if (!published) {
                    handle.freed();
                }
            }
        }
        return handle;
    }

    private void publish(LmrSpec spec, long lh) {
        long timeoutNs = session.deadlineNs();
        session.requests()
                .ask(
                        "publication of a registered LMR of %d bytes".formatted(spec.size()),
                        Done.class,
                        timeoutNs,
                        request -> new Publish(request, Session.forNode(timeoutNs), lh),
                        // The node frees an LMR that it could not publish; a late publication must leave nothing
                        // behind.
                        (request, none) -> session.free(request, lh));
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
        long from = own("source", source);
        long to = own("destination", destination);
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
                                Session.forNode(timeoutNs),
                                from,
                                sourceOffset,
                                to,
                                destinationOffset,
                                length,
                                overlapAllowed),
                        null);
        session.counts().requests().copy(length); // now: only the node checks the length
    }

    private long own(String parameter, LmrHandle handle) {
        if (Objects.requireNonNull(handle, parameter).unwrap() instanceof ClientHandle own) {
            return own.lh(session);
        }
        throw new IllegalArgumentException("%s belongs to another session".formatted(handle));
    }

    @Override
    public void fence(Duration deadline) {
        Durations.requirePositive(deadline);
        if (!session.isOpen()) {
            throw session.lost();
        }
        session.async().fence(deadline);
    }
}
