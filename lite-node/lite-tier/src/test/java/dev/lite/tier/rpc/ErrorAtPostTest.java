package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.RpcServer;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Inside;
import dev.lite.tier.testing.TestCluster;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A call whose post fails: for example, the server's node has given a ring that does not lie in its arena. */
class ErrorAtPostTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    /** Else no thread would poll the fabric any more. */
    @Test
    void itsThreadDoesNotKeepThePollRole() throws ReflectiveOperationException {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = (FunctionClient) session.rpc().bind("n1", "f");
            CompletableFuture<byte[]> first = client.callAsync(new byte[8], LONG); // makes the ring
            server.receive(LONG).reply(new byte[1]);
            assertThat(first).succeedsWithin(LONG);
            RpcBinding binding = Inside.field(client, "binding", RpcBinding.class);
            Field offset = RpcBinding.class.getDeclaredField("ringOffset");
            offset.setAccessible(true);
            offset.setLong(binding, Long.MAX_VALUE / 2);
            Waits.until("the role is free", binding.peer.pollRole()::take);
            binding.peer.pollRole().release();

            assertThatThrownBy(() -> client.call(new byte[8], LONG)).isInstanceOf(IndexOutOfBoundsException.class);

            Waits.until("the role is free", binding.peer.pollRole()::take);
            binding.peer.pollRole().release();
            session.close();
        }
    }
}
