package dev.lite.tier.node;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.tier.TierSession;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/** A session inside the node's own JVM: the paper's kernel-level caller. */
final class EmbeddedLite implements Lite, LtMemory {
    private final TierSession session;
    private final Duration deadline;
    private final AtomicBoolean closed = new AtomicBoolean();

    EmbeddedLite(TierSession session, Duration deadline) {
        this.session = session;
        this.deadline = deadline;
    }

    @Override
    public LtMemory memory() {
        return this;
    }

    @Override
    public LtRpc rpc() {
        return session.rpc();
    }

    @Override
    public LtSync sync() {
        return session.sync();
    }

    @Override
    public String nodeName() {
        return session.nodeName();
    }

    @Override
    public List<NodeInfo> nodes() {
        return session.nodes();
    }

    @Override
    public boolean isOpen() {
        return !closed.get();
    }

    @Override
    public LmrHandle malloc(LmrSpec spec, Duration callDeadline) {
        return session.malloc(spec, callDeadline);
    }

    @Override
    public LmrHandle malloc(LmrSpec spec) {
        return session.malloc(spec, deadline);
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions, Duration callDeadline) {
        return session.map(name, permissions, callDeadline);
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions) {
        return session.map(name, permissions, deadline);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            session.close();
        }
    }
}
