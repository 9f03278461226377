package dev.lite.tier.session;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandlerException;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import dev.lite.tier.session.CallBook.Call;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** A server of a function in a random history: with a handler, or with threads of its own. */
final class HistoryServer extends HistoryService {
    private static final int THREADS_MAX = 3;

    private final RpcServer server;

    HistoryServer(CallBook book, HistoryApp app, CallBook.Function function, Random random) {
        super(book, app, function);
        if (random.nextInt(3) == 0) {
            server = app.lite.rpc().register(function.name(), 1 + random.nextInt(4), this::handle);
            return;
        }
        server = app.lite.rpc().serve(function.name());
        start(THREADS_MAX, random, (its, interrupts) -> new Receiver(its, interrupts).run());
    }

    private MemorySegment handle(RpcCall received) {
        Call call = execute(received);
        if (call == null || call.fails) {
            throw new RpcHandlerException(call == null ? -1 : call.failureCode(), "on purpose");
        }
        return MemorySegment.ofArray(call.reply());
    }

    private @Nullable Call execute(RpcCall received) {
        Call call = book.executed(received.request(), received.context(), function);
        if (call != null && call.holdMs > 0) {
            Waits.pass(Duration.ofMillis(call.holdMs));
        }
        return call;
    }

    @Override
    void closeNow() {
        server.close();
    }

    /** One of its threads. */
    private final class Receiver {
        private final Random random;
        private final Interrupts interrupts;

        Receiver(Random random, Interrupts interrupts) {
            this.random = random;
            this.interrupts = interrupts;
        }

        void run() {
            RpcCall received = null;
            Call call = null;
            while (true) {
                Duration deadline = Duration.ofMillis(1 + random.nextInt(60));
                long beganNs = System.nanoTime();
                RpcCall next = null;
                try {
                    next = next(received, call, deadline);
                } catch (LiteTimeoutException e) {
                    if (System.nanoTime() - beganNs < deadline.toNanos()) {
                        book.wrong("a receive of %s ended too early: %s".formatted(function.name(), e));
                    }
                } catch (NodeUnreachableException e) {
                    requireGone(call, e);
                } catch (SessionLostException e) {
                    if (!isClosing()) {
                        book.wrong("a receive of %s failed: %s".formatted(function.name(), e));
                    }
                    answerLast(received, call);
                    return;
                } catch (RuntimeException e) {
                    book.wrong("a receive of %s failed: %s".formatted(function.name(), e));
                } finally {
                    interrupts.check("receive of " + function.name());
                }
                received = next;
                call = next == null ? null : execute(next);
            }
        }

        private RpcCall next(@Nullable RpcCall received, @Nullable Call call, Duration deadline) {
            if (received != null && call != null) {
                if (!call.fails && random.nextBoolean()) {
                    return server.replyAndReceive(received, MemorySegment.ofArray(call.reply()), deadline);
                }
                answer(received, call);
            }
            return server.receive(deadline);
        }

        private void answer(RpcCall received, Call call) {
            try {
                if (call.fails) {
                    received.fail(call.failureCode(), "on purpose");
                } else {
                    received.reply(call.reply());
                }
            } catch (NodeUnreachableException e) {
                requireGone(call, e);
            }
        }

        /** The application is gone that called. */
        private void requireGone(@Nullable Call call, NodeUnreachableException e) {
            if (call == null || !(call.by.ending || book.nodeLost)) {
                book.wrong("%s could not be answered: %s".formatted(call, e));
            }
        }

        /** The server was closed; a call that it has received may still be answered. */
        private void answerLast(@Nullable RpcCall received, @Nullable Call call) {
            if (received != null && call != null) {
                try {
                    answer(received, call);
                } catch (IllegalStateException answered) {
                    // by the call that met the end
                } catch (SessionLostException e) {
                    if (!app.ending) {
                        book.wrong("%s could not be answered: %s".formatted(call, e));
                    }
                }
            }
        }
    }
}
