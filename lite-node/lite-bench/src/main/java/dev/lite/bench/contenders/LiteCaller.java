package dev.lite.bench.contenders;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.NodeInfo;
import dev.lite.api.Placement;
import dev.lite.api.RpcClient;
import dev.lite.bench.load.Caller;
import dev.lite.bench.load.HandOvers;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Outstanding;
import dev.lite.bench.load.Workload;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Calls a server at {@value LiteServer#NODE}, and accesses memory there, through the public interface. The contenders differ
 * in where their sessions come from.
 */
final class LiteCaller implements Caller {
    private static final Duration DEADLINE = Duration.ofSeconds(10);
    private static final Duration CONNECT = Duration.ofSeconds(30);
    private static final long PAUSE_NS = 1_000_000;
    private static final long LMR_BYTES = 1 << 20;
    private static final long LINE_BYTES = 64;

    private final IntFunction<Lite> sessions;
    private final Runnable below;
    private final Lite lite;
    private final List<Lite> opened = new ArrayList<>();
    private final LmrHandle memory;
    private final HandOvers handOvers = new HandOvers();

    /**
     * @param sessions opens a session at the node with this index, 0 or 1
     * @param fabric the fabric that must connect the nodes
     * @param below closes what the sessions need
     */
    LiteCaller(IntFunction<Lite> sessions, String fabric, Runnable below) {
        this.sessions = sessions;
        this.below = below;
        lite = sessions.apply(0);
        requireConnected(fabric);
        memory = lite.memory().malloc(LmrSpec.of(LMR_BYTES).withPlacement(Placement.on(LiteServer.NODE)));
    }

    private void requireConnected(String fabric) {
        if (!Polling.until(
                () -> lite.nodes().stream()
                        .anyMatch(node -> node.name().equals(LiteServer.NODE)
                                && node.fabric().equals(fabric)),
                Deadline.in(CONNECT),
                PAUSE_NS)) {
            throw new IllegalStateException("%s is not connected by %s: %s"
                    .formatted(
                            LiteServer.NODE,
                            fabric,
                            lite.nodes().stream().map(NodeInfo::toString).toList()));
        }
    }

    @Override
    public Operation operation(Workload workload, int thread) {
        return switch (workload.kind()) {
            case CALL -> workload.underWay() == 1 ? call(workload, thread) : callAsync(workload);
            case READ, WRITE -> workload.underWay() == 1 ? access(workload, thread) : accessAsync(workload);
            case ADD -> add(thread);
            case LOCK -> lock(workload, thread);
        };
    }

    private RpcClient[] clients(Workload workload) {
        RpcClient[] clients = new RpcClient[workload.functions()];
        for (int i = 0; i < clients.length; i++) {
            clients[i] = lite.rpc().bind(LiteServer.NODE, LiteServer.function(i));
        }
        return clients;
    }

    private Operation call(Workload workload, int thread) {
        RpcClient[] clients = clients(workload);
        MemorySegment request = Arena.ofAuto().allocate(workload.bytes(), Long.BYTES);
        MemorySegment reply = Arena.ofAuto().allocate(workload.bytes(), Long.BYTES);
        int[] next = {thread % clients.length};
        return nowNs -> {
            int turn = next[0];
            next[0] = turn + 1 == clients.length ? 0 : turn + 1;
            long bytes = clients[turn].call(request, reply, DEADLINE);
            if (bytes != request.byteSize()) {
                throw new IllegalStateException("the reply has %d bytes".formatted(bytes));
            }
            return nowNs;
        };
    }

    private Operation callAsync(Workload workload) {
        RpcClient client = clients(workload)[0];
        byte[] request = new byte[workload.bytes()];
        return new Outstanding(workload.underWay(), slot -> client.callAsync(request, DEADLINE));
    }

    private Operation access(Workload workload, int thread) {
        MemorySegment local = Arena.ofAuto().allocate(workload.bytes(), Long.BYTES);
        long offset = (long) thread * workload.bytes();
        return workload.kind() == Workload.Kind.READ
                ? nowNs -> {
                    memory.read(offset, local);
                    return nowNs;
                }
                : nowNs -> {
                    memory.write(offset, local);
                    return nowNs;
                };
    }

    private Operation add(int thread) {
        long offset = (long) thread * LINE_BYTES;
        return nowNs -> {
            long unused = memory.fetchAdd(offset, 1);
            return nowNs;
        };
    }

    private Operation accessAsync(Workload workload) {
        int bytes = workload.bytes();
        MemorySegment local = Arena.ofShared().allocate((long) bytes * workload.underWay(), Long.BYTES);
        boolean reads = workload.kind() == Workload.Kind.READ;
        return new Outstanding(workload.underWay(), slot -> {
            long offset = (long) slot * bytes;
            MemorySegment mine = local.asSlice(offset, bytes);
            return reads ? memory.readAsync(offset, mine) : memory.writeAsync(offset, mine);
        });
    }

    /** Each thread has its own session; the sessions alternate between the nodes. */
    private Operation lock(Workload workload, int thread) {
        Lite session = sessions.apply(thread & 1);
        opened.add(session);
        LtLock lock = session.sync().lock("bench/" + workload.callers());
        return nowNs -> {
            try (HeldLock held = lock.acquire(DEADLINE)) {
                if (!held.isHeld()) {
                    throw new IllegalStateException(held + " is not held");
                }
                return handOvers.by(thread, nowNs);
            }
        };
    }

    @Override
    public void close() {
        opened.forEach(Lite::close);
        lite.close();
        below.run();
    }
}
