package dev.lite.client.reattach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeLite;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Handlers of functions, which are registered again. */
class ReattachingHandlersTest extends ReattachingCases {
    @Test
    void aRegistrationThatMeetsTheLossOfTheSessionIsRepeatedInTheNextOne() {
        FakeLite first = sessions.getLast();
        first.rpc().whenRegistering = () -> {
            first.lose();
            throw new SessionLostException("the session was lost");
        };
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().rpc().handlers).containsOnlyKeys("f");
        server.close();
        assertThat(sessions.getLast().rpc().handlers).isEmpty();

        FakeLite last = sessions.getLast();
        last.rpc().whenRegistering = () -> {
            lite.close();
            throw new SessionLostException("the session was closed");
        };
        assertThatThrownBy(() -> lite.rpc().register("g", 1, call -> call.request()))
                .isInstanceOf(SessionLostException.class);
    }

    @Test
    void aHandlerIsRegisteredAgainAfterARestartWithoutAnyCall() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        assertThat(sessions.getLast().rpc().handlers).containsKey("f");
        nodeIsUp = false;
        sessions.getLast().lose();
        nodeIsUp = true;
        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.containsKey("f"));
        server.close();
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
        sessions.getLast().lose();
        assertThat(lite.nodes()).hasSize(2);
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
    }

    /** The session gives it to the handler. */
    @Test
    void aHandlerIsRegisteredAgainWithTheContextClassLoaderOfItsFirstRegistration() {
        Queue<ClassLoader> loaders = new ConcurrentLinkedQueue<>();
        Runnable recording = () -> loaders.add(Thread.currentThread().getContextClassLoader());
        whenRegistering = recording;
        sessions.getLast().rpc().whenRegistering = recording;
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        nodeIsUp = false;
        sessions.getLast().lose();
        Thread caller = Thread.ofPlatform().unstarted(lite::nodes);
        caller.setContextClassLoader(new ClassLoader() {});
        attachesBy = caller;
        nodeIsUp = true;
        caller.start();
        Waits.until("the function is registered again", () -> loaders.size() == 2);
        assertThat(loaders).containsOnly(Thread.currentThread().getContextClassLoader());
        Waits.join(caller);
        server.close();
    }

    /** For example because the process has no file descriptor or thread left for a moment. */
    @Test
    void aHandlerIsRegisteredAgainAlthoughAttemptsToAttachFailUnexpectedly() {
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        ReattachingLite own = ReattachingLite.attach(
                AttachOptions.to(Path.of("/tmp/x.sock"), "test").withDeadline(LONG), options -> {
                    Throwable next = failures.poll();
                    if (next instanceof RuntimeException failure) {
                        throw failure;
                    }
                    if (next instanceof Error failure) {
                        throw failure;
                    }
                    sessions.add(new FakeLite(options));
                    return sessions.getLast();
                });
        RpcServer server = own.rpc().register("f", 1, call -> call.request());
        int before = sessions.size();
        failures.add(new UncheckedIOException(new IOException("Too many open files")));
        failures.add(new OutOfMemoryError("unable to create native thread"));
        sessions.getLast().lose();

        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == before + 1
                        && sessions.getLast().rpc().handlers.containsKey("f"));
        assertThat(failures).isEmpty();
        server.close();
        own.close();
    }

    @Test
    void aHandlerThatTheRestartedNodeRefusesAtFirstIsRegisteredLater() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        refusedRegistrations = 3;
        sessions.getLast().lose();

        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.containsKey("f"));

        server.close();
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
    }

    @Test
    void anErrorInTheRegistrationOfOneHandlerKeepsNeitherThatNorAnotherOneFromTheNextSessions() {
        List<RpcServer> servers = new ArrayList<>();
        for (String function : List.of("f", "g", "h")) {
            servers.add(lite.rpc().register(function, 1, call -> call.request()));
        }
        registrationErrors.add(new OutOfMemoryError("unable to create native thread"));
        sessions.getLast().lose();
        Waits.until(
                "all are served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.size() == 3);

        sessions.getLast().lose();
        Waits.until(
                "all are served in the one after that",
                () -> sessions.size() == 3 && sessions.getLast().rpc().handlers.size() == 3);
        servers.forEach(RpcServer::close);
    }

    @Test
    void aCallThatAttachesLeavesTheRegistrationOfHandlersToAnotherThread() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        AtomicReference<@Nullable Thread> registering = new AtomicReference<>();
        whenRegistering = () -> registering.set(Thread.currentThread());
        sessions.getLast().close(); // its listeners are not called, so that the next call finds the loss
        assertThat(lite.nodes()).hasSize(2);
        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.containsKey("f"));
        assertThat(registering.get()).isNotSameAs(Thread.currentThread());
        server.close();
    }

    @Test
    void aCallWhoseNewSessionEndsAtOnceLeavesFurtherAttemptsToAnotherThread() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        attemptsToAttach.clear();
        shortSessions.set(1);
        sessions.getLast().close(); // its listeners are not called, so that the next call finds the loss
        Thread node = Thread.ofPlatform().start(() -> {
            Waits.until("a further attempt was made", () -> attemptsToAttach.size() > 2);
            nodeIsUp = true;
        });
        assertThatThrownBy(() -> lite.rpc().call("fake-1", "f", BYTES, SHORT)).isInstanceOf(LiteException.class);
        Waits.join(node);
        assertThat(attemptsToAttach.stream().filter(thread -> thread == Thread.currentThread()))
                .hasSize(1);
        Waits.until(
                "the function is served in the session after that",
                () -> sessions.size() == 3 && sessions.getLast().rpc().handlers.containsKey("f"));
        server.close();
    }
}
