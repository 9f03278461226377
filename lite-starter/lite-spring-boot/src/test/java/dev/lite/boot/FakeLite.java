package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A session without a node: it knows no LMR, and can be lost at will. */
final class FakeLite implements Lite {

    final AttachOptions options;
    private volatile boolean open = true;

    FakeLite(AttachOptions options) {
        this.options = options;
    }

    void lose() {
        open = false;
    }

    @Override
    public LtRpc rpc() {
        return new LtRpc() {
            @Override
            public RpcServer serve(String function) {
                throw lostOr("serve");
            }

            @Override
            public RpcServer register(String function, int concurrency, RpcHandler handler) {
                throw lostOr("register");
            }

            @Override
            public RpcClient bind(String node, String function) {
                throw lostOr("bind");
            }

            @Override
            public Map<String, RpcOutcome> multicast(
                    Collection<String> nodes, String function, byte[] request, Duration deadline) {
                throw lostOr("multicast");
            }

            @Override
            public void send(String node, String port, MemorySegment message, Duration deadline) {
                throw lostOr("send");
            }

            @Override
            public RpcMessages messages(String port) {
                throw lostOr("messages");
            }
        };
    }

    @Override
    public LtMemory memory() {
        return new LtMemory() {
            @Override
            public LmrHandle malloc(LmrSpec spec, Duration deadline) {
                throw lostOr("malloc");
            }

            @Override
            public LmrHandle malloc(LmrSpec spec) {
                throw lostOr("malloc");
            }

            @Override
            public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
                throw lostOr(name);
            }

            @Override
            public LmrHandle map(String name, Set<Permission> permissions) {
                throw lostOr(name);
            }
        };
    }

    private RuntimeException lostOr(String name) {
        return open
                ? new LmrNotFoundException("no LMR of the name " + name)
                : new SessionLostException("the session was lost");
    }

    @Override
    public String nodeName() {
        return "fake-1";
    }

    @Override
    public List<NodeInfo> nodes() {
        if (!open) {
            throw new SessionLostException("the session was lost");
        }
        return List.of(new NodeInfo("fake-1", 1, 1, 1 << 20, "local"), new NodeInfo("fake-2", 2, 1, 1 << 20, "shm"));
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    @Override
    public void close() {
        open = false;
    }
}
