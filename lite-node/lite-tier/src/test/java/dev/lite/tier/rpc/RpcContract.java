package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.FabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** The contract of calls and messages, between nodes in one JVM and within one node. A subclass supplies only the fabric. */
abstract class RpcContract implements ContentCases, FailureCases, SlowServerCases, MessageCases {
    static final Duration GENEROUS = Waits.seconds(15);
    static final Duration SHORT = Duration.ofMillis(50);
    /** Lengths around every limit: of slots, of inline requests, of pages, and of messages. */
    static final int[] LENGTHS = {
        0, 1, 7, 8, 32, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536
    };

    @TempDir(factory = InDevShm.class)
    private Path root;

    private TestCluster cluster;
    private Lite caller;
    private Lite remote;
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicReference<@Nullable Throwable> inThread = new AtomicReference<>();

    abstract FabricProvider provider();

    @BeforeEach
    void startNodes() {
        cluster = new TestCluster(root, provider()).start(2);
        caller = cluster.attach(0);
        remote = cluster.attach(1);
    }

    @AfterEach
    void stopNodes() {
        cluster.close();
        threads.forEach(Waits::join);
        assertThat(inThread.get()).isNull();
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static byte[] random(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    @Override
    public final void run(Runnable body) {
        threads.add(Thread.ofPlatform().daemon().start(() -> {
            try {
                body.run();
            } catch (RuntimeException | Error e) {
                inThread.compareAndSet(null, e);
            }
        }));
    }

    @Override
    public final void echo(RpcServer server) {
        run(() -> {
            try {
                RpcCall call = server.receive(GENEROUS);
                while (true) {
                    call = server.replyAndReceive(call, call.request(), GENEROUS);
                }
            } catch (SessionLostException e) {
                // closed
            }
        });
    }

    @Override
    public final TestCluster cluster() {
        return cluster;
    }

    @Override
    public final Lite caller() {
        return caller;
    }

    @Override
    public final Lite remote() {
        return remote;
    }
}
