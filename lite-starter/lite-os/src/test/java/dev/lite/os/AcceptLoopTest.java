package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class AcceptLoopTest {
    private final EventFd causesAnException = EventFd.create();
    private final EventFd causesAnError = EventFd.create();
    private final EventFd last = EventFd.create();
    private final Queue<EventFd> arriving = new ArrayDeque<>(List.of(causesAnException, causesAnError, last));
    private final List<EventFd> accepted = new ArrayList<>();
    private final List<Throwable> troubles = new ArrayList<>();

    @AfterEach
    void close() {
        causesAnException.close();
        causesAnError.close();
        last.close();
    }

    private void run(Consumer<Throwable> trouble) {
        var running = new ArrayList<AcceptLoop<EventFd>>();
        var loop = new AcceptLoop<>(arriving::remove, peer -> accept(peer, running.getFirst()), trouble);
        running.add(loop);
        loop.run();
    }

    private void accept(EventFd peer, AcceptLoop<EventFd> loop) {
        accepted.add(peer);
        if (peer == causesAnException) {
            throw new IllegalStateException("a defect");
        }
        if (peer == causesAnError) {
            throw new OutOfMemoryError("unable to create native thread");
        }
        loop.stop();
    }

    /** Else no peer could connect to the node any more, although its socket still listens. */
    @Test
    void afterAnyFailureWithOnePeerTheLoopAcceptsTheNext() {
        run(troubles::add);
        assertThat(accepted).containsExactly(causesAnException, causesAnError, last);
        assertThat(troubles)
                .extracting(Throwable::getMessage)
                .containsExactly("a defect", "unable to create native thread");
    }

    @Test
    void theLoopAcceptsTheNextPeerAlsoIfTheFailureCannotBeLogged() {
        run(failure -> {
            troubles.add(failure);
            throw new IllegalStateException("the log is broken");
        });
        assertThat(accepted).containsExactly(causesAnException, causesAnError, last);
        assertThat(troubles).hasSize(2);
    }

    /** Else each such peer would wait for an answer, and its socket would stay open. */
    @Test
    void aPeerThatCannotBeAcceptedIsDisconnected() {
        run(troubles::add);
        assertClosed(causesAnException);
        assertClosed(causesAnError);
        last.descriptor.acquire("a test");
        last.descriptor.release();
    }

    private static void assertClosed(EventFd peer) {
        assertThatExceptionOfType(OsException.class).isThrownBy(() -> peer.descriptor.acquire("a test"));
    }
}
