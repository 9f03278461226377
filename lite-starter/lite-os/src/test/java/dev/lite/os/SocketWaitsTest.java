package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SocketWaitsTest {
    private static final int OWNER_ONLY = 0600;
    private static final int BACKLOG = 200;
    private static final long NO_LIMIT = Long.MAX_VALUE;
    private static final int MESSAGE_BYTES = 1024;

    @TempDir
    Path directory;

    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final SocketWaits waits = new SocketWaits("lite-test-sockets", (message, why) -> failure.set(why));
    private final List<AutoCloseable> open = new ArrayList<>();
    private UnixServerSocket listener;

    @BeforeEach
    void listen() {
        listener = UnixServerSocket.bind(directory.resolve("s"), OWNER_ONLY, BACKLOG);
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
        listener.close();
        waits.close();
        assertThat(failure.get()).as("a failure of the thread").isNull();
    }

    private record Connection(UnixSocket far, UnixSocket near, SocketWaits.Watched watched) {}

    private Connection connect() {
        UnixSocket far = UnixSocket.connect(listener.path());
        UnixSocket near = listener.accept();
        SocketWaits.Watched watched = waits.watch(near);
        open.addAll(List.of(far, near, watched));
        return new Connection(far, near, watched);
    }

    private static MemorySegment message() {
        return Arena.ofAuto().allocate(MESSAGE_BYTES);
    }

    private static <T> CompletableFuture<T> inVirtualThread(java.util.concurrent.Callable<T> call) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread unused = Thread.ofVirtual().start(() -> {
            try {
                result.complete(call.call());
            } catch (Throwable why) {
                result.completeExceptionally(why);
            }
        });
        return result;
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS);
    }

    /** A virtual thread that waits until the socket is readable, and has begun to wait. */
    private static CompletableFuture<Received> receiveLater(Connection connection) {
        AtomicReference<Thread> receiver = new AtomicReference<>();
        CompletableFuture<Received> received = inVirtualThread(() -> {
            receiver.set(Thread.currentThread());
            MemorySegment buffer = message();
            Received next;
            while ((next = connection.near().tryReceive(buffer)) == null) {
                connection.watched().awaitReadable(NO_LIMIT);
            }
            return next;
        });
        Waits.until(
                "it waits",
                () -> receiver.get() != null
                        && (receiver.get().getState() == Thread.State.WAITING
                                || receiver.get().getState() == Thread.State.TIMED_WAITING));
        return received;
    }

    @Test
    void eachOfManyWaitingThreadsReceivesItsMessage() throws Exception {
        List<Connection> connections = new ArrayList<>();
        List<CompletableFuture<Received>> received = new ArrayList<>();
        for (int i = 0; i < 2 * Epoll.EVENTS_MAX; i++) {
            Connection connection = connect();
            connections.add(connection);
            received.add(receiveLater(connection));
        }
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < connections.size(); i++) {
                connections.get(i).far().send(message(), i + 1);
            }
            for (int i = 0; i < connections.size(); i++) {
                assertThat(get(received.get(i)).length()).isEqualTo(i + 1);
                received.set(i, receiveLater(connections.get(i)));
            }
        }
    }

    @Test
    void theEndOfTheConnectionAndAShutdownEndAWait() throws Exception {
        Connection ended = connect();
        Connection shutDown = connect();
        CompletableFuture<Received> first = receiveLater(ended);
        CompletableFuture<Received> second = receiveLater(shutDown);

        ended.far().close();
        shutDown.near().shutdown();

        assertThat(get(first).isEnd()).isTrue();
        assertThat(get(second).isEnd()).isTrue();
    }

    @Test
    void anEndBeforeTheWaitIsSeen() {
        Connection connection = connect();
        connection.far().close();
        connection.watched().awaitReadable(NO_LIMIT);
        connection.watched().awaitReadable(NO_LIMIT);
        assertThat(connection.near().tryReceive(message())).isEqualTo(Received.END);
    }

    @Test
    void closingTheWatchOrTheSetEndsAWait() {
        Connection connection = connect();
        CompletableFuture<Received> received = receiveLater(connection);
        connection.watched().close();
        assertThatThrownBy(() -> get(received))
                .isInstanceOf(ExecutionException.class)
                .rootCause()
                .hasFieldOrPropertyWithValue("errno", Errno.EBADF);

        CompletableFuture<Received> another = receiveLater(connect());
        waits.close();
        assertThatThrownBy(() -> get(another))
                .isInstanceOf(ExecutionException.class)
                .rootCause()
                .hasFieldOrPropertyWithValue("errno", Errno.EBADF);
    }

    @Test
    void aWaitEndsAtItsTimeoutAndTheNextOneWorks() {
        Connection connection = connect();
        assertThatThrownBy(() -> connection.watched().awaitReadable(1))
                .isInstanceOf(OsException.class)
                .hasFieldOrPropertyWithValue("errno", Errno.EAGAIN);
        connection.far().send(message(), 1);
        connection.watched().awaitReadable(NO_LIMIT);
    }

    @Test
    void aSenderWaitsUntilThePeerReadsWhileAReceiverWaits() throws Exception {
        Connection connection = connect();
        CompletableFuture<Received> received = receiveLater(connection);
        int fit = 0;
        while (connection.near().trySend(message(), MESSAGE_BYTES)) {
            fit++;
        }
        CompletableFuture<Boolean> sent = inVirtualThread(() -> {
            while (!connection.near().trySend(message(), MESSAGE_BYTES)) {
                connection.watched().awaitWritable(NO_LIMIT);
            }
            return true;
        });
        assertThat(sent).isNotDone();

        for (int i = 0; i <= fit; i++) {
            assertThat(connection.far().receive(message()).length()).isEqualTo(MESSAGE_BYTES);
        }

        assertThat(get(sent)).isTrue();
        assertThat(received).isNotDone();
        connection.far().send(message(), 7);
        assertThat(get(received).length()).isEqualTo(7);
    }

    @Test
    void anInterruptDoesNotEndAWaitAndStaysSet() throws Exception {
        Connection connection = connect();
        AtomicReference<Thread> waiter = new AtomicReference<>();
        CompletableFuture<Boolean> interrupted = inVirtualThread(() -> {
            waiter.set(Thread.currentThread());
            connection.watched().awaitReadable(NO_LIMIT);
            return Thread.currentThread().isInterrupted();
        });
        Waits.until("it waits", () -> waiter.get() != null && waiter.get().getState() == Thread.State.TIMED_WAITING);
        waiter.get().interrupt();
        Waits.until("it waits again", () -> !waiter.get().isInterrupted());
        connection.far().send(message(), 1);
        assertThat(get(interrupted)).isTrue();
    }
}
