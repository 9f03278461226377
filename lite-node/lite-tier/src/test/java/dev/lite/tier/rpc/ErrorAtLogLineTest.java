package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.lite.api.Lite;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcServer;
import dev.lite.fabric.Post;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** The end of a connection without memory for a message about it. Nested, it would isolate all around it. */
@Isolated("it replaces what the process logs")
class ErrorAtLogLineTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void theEndOfAConnectionEndsTheCallsToItsNode() {
        Logger logger = (Logger) LoggerFactory.getLogger(PeerLinks.class);
        AppenderBase<ILoggingEvent> failing = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                if (event.getMessage().startsWith("disconnected")) {
                    throw new OutOfMemoryError("on purpose");
                }
            }
        };
        failing.start();
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = ErrorAtReplyTest.withRing(session, server);
            CompletableFuture<byte[]> call = client.callAsync(new byte[8], LONG);
            Peer peer = Objects.requireNonNull(
                    ErrorAtReplyTest.usedSlots(cluster, 0, 1).getFirst().peer);
            logger.setLevel(Level.INFO); // else the line is not written at all
            logger.addAppender(failing);

            peer.endpoint().close();

            assertThat(call)
                    .failsWithin(LONG.multipliedBy(2))
                    .withThrowableThat()
                    .withCauseInstanceOf(NodeUnreachableException.class);
            session.close();
        } finally {
            logger.detachAppender(failing);
            logger.setLevel(null);
        }
    }

    /** Else its slot comes back only with the end of the connection. */
    @ParameterizedTest
    @ValueSource(ints = {1, ErrorAtReplyTest.LONG_REPLY})
    void aReplyToABusyConnectionKeepsNoSlotAndTheCallCanBeAnsweredAgain(int bytes) {
        Logger logger = (Logger) LoggerFactory.getLogger(RpcReplies.class);
        AppenderBase<ILoggingEvent> failing = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                throw new OutOfMemoryError("on purpose");
            }
        };
        failing.start();
        ErrorAtReplyTest.withReceivedCall(root, LONG, (call, peer, endpoint, reply) -> {
            MemorySegment message = MemorySegment.ofArray(new byte[bytes]);
            Inside.set(peer, "endpoint", ErrorAtReplyTest.posting(endpoint, () -> Post.BUSY));
            logger.setLevel(Level.WARN);
            logger.addAppender(failing);
            Thread.currentThread().interrupt(); // so that it does not wait
            try {
                assertThatThrownBy(() -> call.reply(message)).isInstanceOf(OutOfMemoryError.class);
            } finally {
                logger.detachAppender(failing);
                logger.setLevel(null);
                assertThat(Thread.interrupted()).isTrue();
                Inside.set(peer, "endpoint", endpoint);
            }
            call.reply(message);
            assertThat(reply).succeedsWithin(LONG).isEqualTo(new byte[bytes]);
        });
    }

    /** An interrupted thread waits for none of its replies; else it would write a line for each. */
    @Test
    void repliesThatWaitForOneNodeAreLoggedOnceInAWhile() {
        Logger logger = (Logger) LoggerFactory.getLogger(RpcReplies.class);
        AtomicInteger lines = new AtomicInteger();
        AppenderBase<ILoggingEvent> failing = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                lines.incrementAndGet();
                throw new OutOfMemoryError("on purpose: then the call can be answered again");
            }
        };
        failing.start();
        ErrorAtReplyTest.withReceivedCall(root, LONG, (call, peer, endpoint, reply) -> {
            MemorySegment message = MemorySegment.ofArray(new byte[1]);
            Inside.set(peer, "endpoint", ErrorAtReplyTest.posting(endpoint, () -> Post.BUSY));
            logger.setLevel(Level.WARN);
            logger.addAppender(failing);
            Thread.currentThread().interrupt();
            try {
                assertThatThrownBy(() -> call.reply(message)).isInstanceOf(OutOfMemoryError.class);
                call.reply(message);
            } finally {
                logger.detachAppender(failing);
                logger.setLevel(null);
                assertThat(Thread.interrupted()).isTrue();
                Inside.set(peer, "endpoint", endpoint);
            }
            assertThat(reply).succeedsWithin(LONG).isEqualTo(new byte[1]);
            assertThat(lines).hasValue(1);
        });
    }
}
