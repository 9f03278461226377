package dev.lite.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeNode;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.session.protocol.SessionMessage.Describe;
import dev.lite.session.protocol.SessionMessage.Goodbye;
import dev.lite.session.protocol.SessionMessage.Refused;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Attaching, detaching, and attaching again, at a node without a tier. */
class AttachTest {
    @TempDir
    private Path directory;

    private FakeNode node;

    @BeforeEach
    void start() {
        node = new FakeNode(directory.resolve("node.sock"));
    }

    @AfterEach
    void stop() {
        node.close();
    }

    private AttachOptions options() {
        return AttachOptions.to(node.socket(), "test");
    }

    @Test
    void aSessionIsOpenUntilItIsClosed() {
        Lite lite = Lite.attach(options());
        assertThat(lite.isOpen()).isTrue();
        assertThat(lite.nodeName()).isEqualTo(FakeNode.NAME);
        assertThat(lite.nodes()).hasSize(1);

        lite.close();
        lite.close();

        assertThat(lite.isOpen()).isFalse();
        assertThat(lite.ended()
                        .toCompletableFuture()
                        .orTimeout(20, TimeUnit.SECONDS)
                        .join())
                .contains("this application closed it");
        assertThatThrownBy(lite::nodes).isInstanceOf(SessionLostException.class);
    }

    /** As a thread of the common pool, in an application that runs from an executable jar. */
    @Test
    void aThreadWhoseContextClassLoaderDoesNotKnowTheClientAttaches() {
        Thread thread = Thread.currentThread();
        ClassLoader former = thread.getContextClassLoader();
        thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
        try (Lite lite = Lite.attach(options())) {
            assertThat(lite.nodeName()).isEqualTo(FakeNode.NAME);
        } finally {
            thread.setContextClassLoader(former);
        }
    }

    @Test
    void withoutANodeTheErrorNamesTheSocket() {
        Path missing = directory.resolve("missing.sock");
        assertThatThrownBy(() -> Lite.attach(AttachOptions.to(missing, "test")))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining(missing.toString())
                .hasMessageContaining("there is no such socket");
    }

    @Test
    void aRefusalBecomesTheNodesException() {
        node.refuseWith(new Refused(
                SessionProtocol.VERSION, LiteException.Code.LIMIT_EXCEEDED.number(), "it has 256 sessions"));
        assertThatThrownBy(() -> Lite.attach(options()))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("it has 256 sessions");
    }

    @Test
    void anotherVersionOfTheProtocolIsReportedWithBothVersions() {
        node.refuseWith(new Refused(99, LiteException.Code.SESSION_LOST.number(), "other version"));
        assertThatThrownBy(() -> Lite.attach(options()))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("protocol 99")
                .hasMessageContaining("to " + SessionProtocol.VERSION);
    }

    @Test
    void aNodeThatSaysGoodbyeFailsTheAttach() {
        node.refuseWith(new Goodbye("it stops"));
        assertThatThrownBy(() -> Lite.attach(options()))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("it stops");
    }

    @Test
    void aNodeThatDoesNotAnswerFailsTheAttachAtItsDeadline() {
        Path silent = directory.resolve("silent.sock");
        try (UnixServerSocket listening = UnixServerSocket.bind(silent, 0600, 8)) {
            AttachOptions options = AttachOptions.to(silent, "test").withDeadline(Duration.ofMillis(100));
            assertThatThrownBy(() -> Lite.attach(options))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining(listening.path().toString());
        }
    }

    @Test
    void nodesThatDoNotAnswerShareTheDeadlineOfTheAttach() {
        try (UnixServerSocket first = UnixServerSocket.bind(directory.resolve("first.sock"), 0600, 8);
                UnixServerSocket second = UnixServerSocket.bind(directory.resolve("second.sock"), 0600, 8)) {
            AttachOptions options = AttachOptions.to(first.path(), "test")
                    .withAlternatives(List.of(second.path()))
                    .withDeadline(Duration.ofSeconds(1));
            assertThatThrownBy(() -> Lite.attach(options))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining(first.path().toString())
                    .hasMessageContaining(second.path().toString())
                    .hasMessageNotContaining("within 1 s")
                    .satisfies(late -> assertThat(Pattern.compile("within ([0-9.]+) ms")
                                    .matcher(String.valueOf(late.getMessage()))
                                    .results()
                                    .map(part -> Double.valueOf(part.group(1))))
                            .isNotEmpty()
                            .allSatisfy(part -> assertThat(part).isLessThanOrEqualTo(500)));

            AttachOptions healthy = options.withAlternatives(List.of(second.path(), node.socket()))
                    .withDeadline(Waits.seconds(3));
            try (Lite lite = Lite.attach(healthy)) {
                assertThat(lite.nodeName()).isEqualTo(FakeNode.NAME);
                assertThat(lite.deadline()).isEqualTo(Waits.seconds(3));
            }
        }
    }

    /** Its queue fills: then already the connect waits. */
    @Test
    void aNodeThatAcceptsNobodyFailsTheAttachAtItsDeadline() {
        Path full = directory.resolve("full.sock");
        try (UnixServerSocket listening = UnixServerSocket.bind(full, 0600, 0);
                UnixSocket first = UnixSocket.connect(listening.path())) {
            assertThat(first).isNotNull();
            AttachOptions patient = AttachOptions.to(full, "test").withDeadline(Waits.seconds(60));
            Thread other = Thread.ofPlatform().daemon().start(() -> assertThatThrownBy(() -> Lite.attach(patient)));
            Waits.until("the other one waits", () -> isInConnect(other));

            AttachOptions hasty = AttachOptions.to(full, "test").withDeadline(Duration.ofMillis(100));
            assertThatThrownBy(() -> Lite.attach(hasty))
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("does not accept connections");

            assertThat(other.isAlive())
                    .as("one with a longer deadline still waits")
                    .isTrue();
        }
    }

    private static boolean isInConnect(Thread thread) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(UnixSocket.class.getName())
                        && frame.getMethodName().equals("connect"));
    }

    @Test
    void withReattachmentAHandleWorksAgainAfterTheLossOfItsNode() {
        try (Lite lite = Lite.attach(options().withReattach(true))) {
            LmrHandle handle = lite.memory().map("table", Permission.READ, Permission.WRITE);
            handle.write(8, new byte[] {1, 2, 3});

            node.dropSession();
            handle.write(11, new byte[] {4});

            byte[] read = new byte[4];
            handle.read(8, read);
            assertThat(read).containsExactly(1, 2, 3, 4);
            // The lost one may have done all of this; the next use after its loss is known attaches again.
            Waits.until("the next session is open", () -> {
                handle.read(8, read);
                return lite.isOpen();
            });
        }
    }

    @Test
    void withoutReattachmentTheSessionStaysLost() {
        try (Lite lite = Lite.attach(options())) {
            LmrHandle handle = lite.memory().map("table", Permission.WRITE);
            node.dropSession();
            assertThat(lite.ended()
                            .toCompletableFuture()
                            .orTimeout(20, TimeUnit.SECONDS)
                            .join())
                    .contains("the node closed the connection");
            assertThatThrownBy(() -> handle.write(0, new byte[1])).isInstanceOf(SessionLostException.class);
            assertThatThrownBy(() -> lite.memory().map("table", Permission.READ))
                    .isInstanceOf(SessionLostException.class);
        }
    }

    /** Else a malloc that the node has done would fail, and leave its memory behind. */
    @Test
    void aHandleOfASessionThatAttachesAgainNeedsNoFurtherRequest() {
        node.holdRequests(Describe.class::isInstance);
        AttachOptions options = options().withReattach(true).withDeadline(Waits.seconds(5));
        try (Lite lite = Lite.attach(options);
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(64))) {
            handle.putLong(0, 8);
            assertThat(handle.getLong(0)).isEqualTo(8);
        }
    }
}
