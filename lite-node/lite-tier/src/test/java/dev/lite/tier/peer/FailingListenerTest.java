package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** A part of the node that fails when a connection begins or ends, for example because there is no memory. */
class FailingListenerTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private static final class Failing implements PeerListener {
        @Override
        public void peerConnected(Peer peer) {
            throw new OutOfMemoryError("on purpose");
        }

        @Override
        public void peerDisconnected(Peer peer, String reason) {
            throw new OutOfMemoryError("on purpose");
        }
    }

    private static final class Recording implements PeerListener {
        final List<String> news = new CopyOnWriteArrayList<>();

        @Override
        public void peerConnected(Peer peer) {
            news.add("connected");
        }

        @Override
        public void peerDisconnected(Peer peer, String reason) {
            news.add("disconnected");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void theOthersLearnOfItAndNoEndedConnectionIsKept(String fabric) {
        FabricProvider provider = fabric.equals("shm") ? new ShmFabricProvider() : new TcpFabricProvider();
        try (TestCluster cluster = new TestCluster(root, provider).start(2)) {
            PeerLinks links = Inside.field(cluster.node(0), "links", PeerLinks.class);
            Recording recording = new Recording();
            links.addListener(new Failing());
            links.addListener(recording);
            Peer former = links.awaitPeer(1, Deadline.in(Waits.seconds(10)));
            former.endpoint().close();

            Waits.until("the others have learnt of it", () -> recording.news.size() == 2);
            assertThat(recording.news).containsExactlyInAnyOrder("disconnected", "connected");
            Peer next = links.awaitPeer(1, Deadline.in(Waits.seconds(10)));
            assertThat(next).isNotSameAs(former);
            awaitForgotten(links, former);
        }
    }

    private static void awaitForgotten(PeerLinks links, Peer former) {
        Waits.until(
                "the former one is forgotten",
                () -> !Inside.field(links, "linked", Set.class).contains(former));
    }

    private static Peer awaitNext(PeerLinks links, int node, Peer former) {
        Waits.until("there is another connection", () -> {
            Peer now = links.peer(node);
            return now != null && now != former;
        });
        return links.awaitPeer(node, Deadline.in(Waits.seconds(10)));
    }

    /** Else nobody would use the connection, and no node would make another one. */
    @Test
    void aConnectionAtWhoseBeginThereIsNoMemoryIsMadeAgain() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            PeerLinks links = Inside.field(cluster.node(1), "links", PeerLinks.class);
            AtomicBoolean fails = new AtomicBoolean();
            Set<Peer> linked = new HashSet<>() {
                @Override
                public boolean add(Peer peer) {
                    if (fails.getAndSet(false)) {
                        throw new OutOfMemoryError("on purpose");
                    }
                    return super.add(peer);
                }
            };
            Peer former = links.awaitPeer(0, Deadline.in(Waits.seconds(10)));
            linked.add(former);
            Inside.set(links, "linked", linked);
            fails.set(true);
            former.endpoint().close();

            assertThat(awaitNext(links, 0, former)).isNotNull();
            assertThat(fails).isFalse();
        }
    }

    @Nested
    @Isolated("it replaces what the process logs")
    class WithoutMemoryForALine {
        private final Logger logger = (Logger) LoggerFactory.getLogger(PeerLinks.class);
        private final Recording recording = new Recording();

        /** Starts two nodes, and ends their connection while these lines fail. */
        private void without(Predicate<String> lines, BiConsumer<PeerLinks, Peer> test) {
            AppenderBase<ILoggingEvent> failing = new AppenderBase<>() {
                @Override
                protected void append(ILoggingEvent event) {
                    if (lines.test(event.getMessage())) {
                        throw new OutOfMemoryError("on purpose");
                    }
                }
            };
            failing.start();
            try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
                PeerLinks links = Inside.field(cluster.node(0), "links", PeerLinks.class);
                links.addListener(new Failing());
                links.addListener(recording);
                Peer former = links.awaitPeer(1, Deadline.in(Waits.seconds(10)));
                logger.setLevel(Level.INFO);
                logger.addAppender(failing);
                former.endpoint().close();
                test.accept(links, former);
            } finally {
                logger.detachAppender(failing);
                logger.setLevel(null);
            }
        }

        /** Else calls would wait until their deadlines, and the removal of the node would never be fenced. */
        @Test
        void theOthersLearnOfTheEndOfAConnectionAndItIsNotKept() {
            without(line -> line.startsWith("disconnected") || line.contains("failed"), (links, former) -> {
                Waits.until("the others have learnt of it", () -> recording.news.contains("disconnected"));
                awaitForgotten(links, former);
            });
        }

        @Test
        void aConnectionWhoseUseCannotBeginIsMadeAgain() {
            AtomicInteger failures = new AtomicInteger(2); // of both nodes
            without(line -> line.startsWith("connected") && failures.getAndDecrement() > 0, (links, former) -> {
                Waits.until("the others have learnt of it", () -> recording.news.contains("connected"));
                assertThat(awaitNext(links, 1, former)).isNotNull();
            });
        }
    }
}
