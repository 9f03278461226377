package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class ReattachingLiteTests {

    private static final double TIME_SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));

    private final List<FakeLite> sessions = new CopyOnWriteArrayList<>();
    private volatile boolean nodeIsThere = true;
    private final ReattachingLite lite =
            new ReattachingLite(AttachOptions.to(Path.of("/tmp/x.sock"), "test"), options -> {
                if (!nodeIsThere) {
                    throw new NodeUnreachableException("nobody listens");
                }
                sessions.add(new FakeLite(options));
                return sessions.getLast();
            });

    @Test
    void theMemoryOutlivesTheNodesRestart() {
        var memory = lite.memory();
        sessions.getLast().lose();
        assertThat(lite.isOpen()).isFalse();
        assertThatThrownBy(() -> memory.map("a", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        assertThat(lite.isOpen()).isTrue();
        assertThat(sessions).hasSize(2);
    }

    @Test
    void aLockBelongsToItsSessionAndIsAskedForAgainAfterTheNodesRestart() {
        LtSync sync = lite.sync();
        LtLock lock = sync.lock("a");
        assertThat(lock.tryAcquire()).isEmpty();
        sessions.getLast().lose();
        assertThatThrownBy(lock::tryAcquire).isInstanceOf(SessionLostException.class);
        assertThat(sync.lock("a").tryAcquire()).isEmpty();
        assertThat(sessions).hasSize(2);
    }

    @Test
    void whileTheNodeIsAwayCallersAreToldSoAndNothingElseHappens() {
        nodeIsThere = false;
        sessions.getLast().lose();
        assertThatThrownBy(() -> lite.memory().map("a", Permission.READ)).isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(lite::nodes).isInstanceOf(NodeUnreachableException.class);
        nodeIsThere = true;
        assertThat(lite.nodes()).hasSize(2);
    }

    @Test
    void aHandlerIsServedAgainWhenTheNodeIsBackWithoutAnyCall() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        assertThat(sessions.getLast().rpc().handlers).containsKey("f");
        nodeIsThere = false;
        sessions.getLast().lose();
        nodeIsThere = true;
        awaitTrue(
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.containsKey("f"));
        server.close();
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
        sessions.getLast().lose();
        assertThat(lite.nodes()).hasSize(2);
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
    }

    private static void awaitTrue(BooleanSupplier condition) {
        long endNs = System.nanoTime() + (long) (20e9 * TIME_SCALE);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - endNs).isNegative();
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Test
    void aClosedSessionIsNotMadeAnew() {
        lite.close();
        assertThatThrownBy(lite::nodes).isInstanceOf(SessionLostException.class);
        assertThat(sessions).hasSize(1);
    }
}
