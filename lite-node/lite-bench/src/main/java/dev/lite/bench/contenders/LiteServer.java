package dev.lite.bench.contenders;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Serves functions that answer a request with as many bytes. */
final class LiteServer implements Server {
    static final String NODE = "node-1";

    private static final Duration NO_TIMEOUT = Duration.ofDays(1);
    private static final int CONCURRENCY = 16;
    private static final int BYTES_MAX = 4096;

    private final Lite lite;
    private final Runnable below;
    private final MemorySegment replies = Arena.global().allocate(BYTES_MAX, 64).asReadOnly();
    private final List<RpcServer> serving = new ArrayList<>();
    private boolean withHandlers;

    /** @param below closes what the session needs */
    LiteServer(Lite lite, Runnable below) {
        this.lite = lite;
        this.below = below;
    }

    static String function(int index) {
        return "bench/" + index;
    }

    @Override
    public void prepare(Workload workload) {
        int wanted = workload.functions();
        if (serving.size() == wanted && withHandlers == workload.handlers()) {
            return;
        }
        serving.forEach(RpcServer::close);
        serving.clear();
        withHandlers = workload.handlers();
        for (int i = 0; i < wanted; i++) {
            if (withHandlers) {
                serving.add(lite.rpc().register(function(i), CONCURRENCY, call -> reply(call)));
            } else {
                RpcServer server = lite.rpc().serve(function(i));
                serving.add(server);
                Thread.ofPlatform().daemon().name("server-" + i).start(() -> receive(server));
            }
        }
    }

    private MemorySegment reply(RpcCall call) {
        return replies.asSlice(0, call.request().byteSize());
    }

    private void receive(RpcServer server) {
        try {
            RpcCall call = server.receive(NO_TIMEOUT);
            while (true) {
                call = server.replyAndReceive(call, reply(call), NO_TIMEOUT);
            }
        } catch (SessionLostException | LiteTimeoutException e) {
            // The server was closed.
        }
    }

    @Override
    public void close() {
        lite.close();
        below.run();
    }
}
