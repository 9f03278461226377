package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReattachingLiteTests {

    private final List<FakeLite> sessions = new ArrayList<>();
    private boolean nodeIsThere = true;
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
    void aClosedSessionIsNotMadeAnew() {
        lite.close();
        assertThatThrownBy(lite::nodes).isInstanceOf(SessionLostException.class);
        assertThat(sessions).hasSize(1);
    }
}
