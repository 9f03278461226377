package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A call with segments allocates nothing at the caller. */
@Isolated("its calls must be compiled within a number of rounds")
class RpcAllocationTest {
    private static final Duration GENEROUS = Waits.seconds(15);
    private static final int CALLS = 2_000;
    private static final int ROUNDS_MAX = 30;

    @TempDir(factory = InDevShm.class)
    private Path root;

    @Test
    void aCallWithSegmentsAllocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite caller = cluster.attach(0);
                Lite remote = cluster.attach(1);
                Arena arena = Arena.ofConfined()) {
            RpcServer server = remote.rpc().serve("echo");
            Thread serving = Thread.ofPlatform().start(() -> {
                try {
                    RpcCall call = server.receive(GENEROUS);
                    while (true) {
                        call = server.replyAndReceive(call, call.request(), GENEROUS);
                    }
                } catch (SessionLostException e) {
                    // closed
                }
            });
            RpcClient client = caller.rpc().bind("n1", "echo");
            MemorySegment request = arena.allocate(64);
            MemorySegment reply = arena.allocate(64);
            long least = Long.MAX_VALUE;
            // Interpreted code allocates, so repeat until the code is compiled.
            for (int round = 0; round < ROUNDS_MAX && least > CALLS; round++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < CALLS; i++) {
                    client.call(request, reply, GENEROUS);
                }
                least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
            }
            assertThat(least).as("bytes allocated by %d calls", CALLS).isLessThan(CALLS);
            server.close();
            Waits.join(serving);
        }
    }
}
