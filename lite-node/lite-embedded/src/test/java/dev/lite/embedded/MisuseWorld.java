package dev.lite.embedded;

import dev.lite.api.HeldLock;
import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A session of one kind, with an object of each type of the interface, in each state. One thread. */
final class MisuseWorld {
    static final int LMR_BYTES = 4096;
    static final Duration GENEROUS = Waits.seconds(15);
    private static final byte[] CONTENT = new byte[64];

    static {
        Arrays.fill(CONTENT, (byte) 0x5a);
    }

    final String kind;
    final Lite lite;
    final String lmr;
    final LmrHandle handle;
    /** On the other node, without a name. */
    final LmrHandle second;

    final LmrHandle unmapped;
    final LmrHandle freed;
    final LmrHandle ofOtherSession;
    final String function;
    final String served;
    final RpcServer server;
    final RpcServer handled;
    final RpcServer closedServer;
    final RpcClient client;
    final RpcClient anyClient;
    final RpcMessages port;
    final RpcMessages closedPort;
    final LtLock lock;
    final HeldLock released;
    final LtBarrier barrier;
    final MemorySegment closedSegment;
    /** Of the thread that makes the world; misuses run on another one. */
    final MemorySegment confinedSegment;

    final MemorySegment readOnlySegment = MemorySegment.ofArray(new byte[64]).asReadOnly();

    private @Nullable LiteStatistics before;

    MisuseWorld(String kind, Lite lite, Lite other) {
        this.kind = kind;
        this.lite = lite;
        lmr = "misuse/" + kind;
        LmrSpec spec = LmrSpec.of(LMR_BYTES);
        handle = lite.memory().malloc(spec.withName(lmr).withLifetime(Lifetime.SESSION));
        handle.write(LMR_BYTES - CONTENT.length, CONTENT);
        second = lite.memory().malloc(spec.withPlacement(Placement.on("node-2")));
        unmapped = lite.memory().map(lmr, Set.of(Permission.READ));
        unmapped.unmap();
        freed = lite.memory().malloc(spec);
        freed.free();
        ofOtherSession = other.memory().malloc(spec);
        function = "misuse/echo/" + kind;
        served = "misuse/served/" + kind;
        handled = lite.rpc().register(function, 2, RpcCall::request);
        server = lite.rpc().serve(served);
        closedServer = lite.rpc().serve("misuse/closed/" + kind);
        closedServer.close();
        client = lite.rpc().bind("node-1", function);
        anyClient = lite.rpc().bindAny(function);
        port = lite.rpc().messages("misuse/port/" + kind);
        closedPort = lite.rpc().messages("misuse/closed-port/" + kind);
        closedPort.close();
        lock = lite.sync().lock("misuse/lock/" + kind);
        released = lock.acquire(GENEROUS);
        released.close();
        barrier = lite.sync().barrier("misuse/barrier/" + kind, 2);
        try {
            long unused = barrier.await(
                    Duration.ofMillis(200)); // the first use takes memory, which idle names keep for a minute
        } catch (LiteTimeoutException alone) {
            // No other party arrives.
        }
        Arena closed = Arena.ofShared();
        closedSegment = closed.allocate(64);
        closed.close();
        confinedSegment = Arena.ofConfined().allocate(64);
    }

    /** A handle that allows only this. */
    LmrHandle with(Permission permission) {
        return lite.memory().map(lmr, EnumSet.of(permission));
    }

    /** A call that the server has received and not answered. */
    record Pending(RpcCall call, CompletableFuture<byte[]> reply) {}

    Pending pending() {
        CompletableFuture<byte[]> reply = lite.rpc().callAsync("node-1", served, new byte[16], GENEROUS);
        return new Pending(server.receive(GENEROUS), reply);
    }

    /** What is wrong with an unanswered call after a misuse, or null. Answers it. */
    static @Nullable String problemOf(Pending pending) {
        try {
            pending.call().reply(new byte[] {7});
            byte[] reply = pending.reply().get(GENEROUS.toNanos(), TimeUnit.NANOSECONDS);
            return reply.length == 1 && reply[0] == 7 ? null : "the call got another reply";
        } catch (Exception e) {
            return "afterwards the call cannot be answered: " + e;
        }
    }

    /** Takes the state to compare with. */
    void mark() {
        before = lite.statistics();
    }

    /** What a misuse left behind, or null. */
    @Nullable
    String problem() {
        try {
            byte[] read = new byte[CONTENT.length];
            handle.read(LMR_BYTES - CONTENT.length, read);
            if (!Arrays.equals(read, CONTENT)) {
                return "afterwards a read finds other bytes";
            }
            byte[] reply = client.call(new byte[] {1, 2, 3}, GENEROUS);
            if (!Arrays.equals(reply, new byte[] {1, 2, 3})) {
                return "afterwards a call gets another reply";
            }
        } catch (LiteException e) {
            return "afterwards the session fails: " + e;
        }
        LiteStatistics now = lite.statistics();
        return before == null || holdings(before).equals(holdings(now))
                ? null
                : "it left something behind: %s instead of %s".formatted(holdings(now), holdings(before));
    }

    private static String holdings(LiteStatistics statistics) {
        return "%d handles, functions %s, ports %s, locks %s"
                .formatted(statistics.handles(), statistics.functions(), statistics.ports(), statistics.locks());
    }

    static MemorySegment bytes(int count) {
        return MemorySegment.ofArray(new byte[count]);
    }

    static MemorySegment nativeBytes(long count) {
        return Arena.ofAuto().allocate(count, ValueLayout.JAVA_LONG.byteAlignment());
    }
}
