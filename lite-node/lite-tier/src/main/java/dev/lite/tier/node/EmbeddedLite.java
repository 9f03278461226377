package dev.lite.tier.node;

import dev.lite.api.Lite;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Durations;
import dev.lite.tier.TierHandle;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** A session inside the node's own JVM: the paper's kernel-level caller. */
final class EmbeddedLite implements Lite {
    private final PrincipalSession session;
    private final Duration deadline;
    private final Supplier<Map<Kind, Count>> transfers;
    private final LtMemory memory = new Memory();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final CompletableFuture<String> ended = new CompletableFuture<>();

    /** @param transfers the node's transfers to and from other nodes */
    EmbeddedLite(PrincipalSession session, Duration deadline, Supplier<Map<Kind, Count>> transfers) {
        this.transfers = transfers;
        this.session = session;
        this.deadline = deadline;
        session.whenClosed(() -> {
            if (closed.compareAndSet(false, true)) {
                complete("its node stopped");
            }
        });
    }

    @Override
    public LtMemory memory() {
        return memory;
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
    public Duration deadline() {
        return deadline;
    }

    @Override
    public List<NodeInfo> nodes() {
        return session.nodes();
    }

    @Override
    public LiteStatistics statistics() {
        return new LiteStatistics(
                transfers.get(),
                session.handles(),
                session.rpc().served(false),
                session.rpc().served(true),
                session.sync().held());
    }

    @Override
    public boolean isOpen() {
        return !closed.get();
    }

    @Override
    public CompletionStage<String> ended() {
        return ended.minimalCompletionStage();
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            session.close();
            complete("this application closed it");
        }
    }

    private void complete(String reason) {
        ended.completeAsync(
                () -> reason,
                work -> Thread.ofVirtual().name("lite-embedded-ended").start(work));
    }

    /** A separate object, so that there is exactly one bean of each type. */
    private final class Memory implements LtMemory {
        @Override
        public LmrHandle malloc(LmrSpec spec, Duration callDeadline) {
            Durations.requirePositive(callDeadline);
            return session.malloc(Objects.requireNonNull(spec, "spec"), callDeadline);
        }

        @Override
        public LmrHandle malloc(LmrSpec spec) {
            return session.malloc(Objects.requireNonNull(spec, "spec"), deadline);
        }

        @Override
        public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration callDeadline) {
            Durations.requirePositive(callDeadline);
            return session.createOrMap(spec, permissions, callDeadline);
        }

        @Override
        public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions) {
            return session.createOrMap(spec, permissions, deadline);
        }

        @Override
        public LmrHandle map(String name, Set<Permission> permissions, Duration callDeadline) {
            Durations.requirePositive(callDeadline);
            return session.map(name, permissions, callDeadline);
        }

        @Override
        public LmrHandle map(String name, Set<Permission> permissions) {
            return session.map(name, permissions, deadline);
        }

        @Override
        public LmrHandle map(long id, Set<Permission> permissions, Duration callDeadline) {
            Durations.requirePositive(callDeadline);
            return session.map(id, permissions, callDeadline);
        }

        @Override
        public LmrHandle map(long id, Set<Permission> permissions) {
            return session.map(id, permissions, deadline);
        }

        @Override
        public LmrHandle register(LmrSpec spec, MemorySegment segment) {
            LtMemory.checkRegister(spec, segment);
            Segments.requireReadable("segment", segment);
            TierHandle handle = session.prepare(spec, deadline);
            boolean written = false;
            try {
                handle.write(0, segment);
                written = true;
            } finally {
                if (!written) {
                    handle.free();
                }
            }
            session.publish(handle, deadline);
            return handle;
        }

        @Override
        public void memcpy(
                LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
            session.copy(
                    own("source", source),
                    sourceOffset,
                    own("destination", destination),
                    destinationOffset,
                    length,
                    false,
                    deadline);
        }

        @Override
        public void memmove(
                LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
            session.copy(
                    own("source", source),
                    sourceOffset,
                    own("destination", destination),
                    destinationOffset,
                    length,
                    true,
                    deadline);
        }

        private static TierHandle own(String parameter, LmrHandle handle) {
            if (Objects.requireNonNull(handle, parameter).unwrap() instanceof TierHandle own) {
                return own;
            }
            throw new IllegalArgumentException("%s belongs to another session".formatted(handle));
        }

        @Override
        public void fence(Duration callDeadline) {
            Durations.requirePositive(callDeadline);
            session.fence(callDeadline);
        }
    }
}
