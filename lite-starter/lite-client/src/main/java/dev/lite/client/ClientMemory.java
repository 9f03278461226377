package dev.lite.client;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.client.protocol.ControlMessage.Free;
import dev.lite.client.protocol.ControlMessage.Malloc;
import dev.lite.client.protocol.ControlMessage.Map;
import dev.lite.client.protocol.ControlMessage.Mapped;
import dev.lite.client.protocol.ControlMessage.Unmap;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** {@link LtMemory} of a session. */
final class ClientMemory implements LtMemory {
    private static final long HEAD_START_NS_MAX = TimeUnit.MILLISECONDS.toNanos(50);

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
                                // Nothing may be kept of a malloc that timed out.
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
                    "map of LMR \"%s\" for no permission; at least one is needed".formatted(name));
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

    /** A little less than the caller waits, so that the node's own, better words about a timeout still arrive. */
    static long forNode(long timeoutNs) {
        return timeoutNs - Math.min(timeoutNs / 10, HEAD_START_NS_MAX);
    }
}
