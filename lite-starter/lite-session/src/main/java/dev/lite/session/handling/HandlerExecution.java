package dev.lite.session.handling;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcHandlerException;
import dev.lite.os.waiting.Counts;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Executes the calls of one handler and answers each of them. Only an {@link RpcHandlerException} is for the caller. Other failures are
 * logged here, at most once a second, and the caller learns only that the handler failed. Any thread.
 */
public final class HandlerExecution {
    /** What a caller gets of a failure that is not for it. */
    static final String FAILED = "the handler failed; the log of its application has the cause";

    private static final long LOG_PAUSE_NS = TimeUnit.SECONDS.toNanos(1);

    private final String function;
    private final RpcHandler handler;
    private final FailureLog log;
    /** The context class loader of handlers. A thread that executes calls may have another one, which does not find their classes. */
    private final @Nullable ClassLoader loader;

    private final AtomicLong nextLogNs = new AtomicLong(System.nanoTime());
    private final AtomicLong unlogged = new AtomicLong();

    /** The log of the handler's application. */
    @FunctionalInterface
    public interface FailureLog {
        /** Logs a warning with the stack. */
        void warn(String message, @Nullable Throwable failure);
    }

    /**
     * For handlers whose context class loader is that of this thread.
     *
     * @param function the handler's function, for messages
     */
    public HandlerExecution(String function, RpcHandler handler, FailureLog log) {
        this.function = function;
        this.handler = handler;
        this.log = log;
        loader = Thread.currentThread().getContextClassLoader();
    }

    /**
     * Executes a call and answers it. An interrupt that the handler leaves behind is cleared: it must not lose the reply.
     *
     * @throws LiteException when the call could not be answered
     */
    public void execute(RpcCall call) {
        MemorySegment reply;
        Thread thread = Thread.currentThread();
        ClassLoader former = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            reply = handler.handle(call);
        } catch (RpcHandlerException e) {
            fail(call, e.handlerCode(), String.valueOf(e.getMessage()));
            return;
        } catch (Throwable e) { // also an Error: answer, so that the caller does not wait until its deadline
            warn("The handler of the function \"%s\" failed".formatted(function), e);
            fail(call, 0, FAILED);
            return;
        } finally {
            boolean unused = Thread.interrupted();
            thread.setContextClassLoader(former);
        }
        answer(call, reply);
    }

    @SuppressWarnings("ConstantValue") // a handler may return null in spite of its declaration
    private void answer(RpcCall call, @Nullable MemorySegment reply) {
        if (reply == null) {
            String message = "the handler returned null; it must return a reply, which may be empty";
            warn("The function \"%s\": %s".formatted(function, message), null);
            fail(call, 0, message);
            return;
        }
        try {
            call.reply(reply);
        } catch (LimitExceededException e) { // too long, or too long for this caller
            warn("The reply of the function \"%s\" was not sent: %s".formatted(function, e.getMessage()), null);
            fail(call, 0, String.valueOf(e.getMessage()));
        } catch (LiteException e) {
            throw e;
        } catch (Throwable e) { // for example a closed segment
            warn("The reply of the function \"%s\" could not be sent".formatted(function), e);
            fail(call, 0, FAILED);
        }
    }

    private static void fail(RpcCall call, int handlerCode, String message) {
        try {
            call.fail(handlerCode, message);
        } catch (IllegalStateException answered) {
            // The handler answered the call itself.
        }
    }

    private void warn(String message, @Nullable Throwable failure) {
        long next = nextLogNs.get();
        long now = System.nanoTime();
        if (now - next < 0 || !nextLogNs.compareAndSet(next, now + LOG_PAUSE_NS)) {
            unlogged.incrementAndGet();
            return;
        }
        long others = unlogged.getAndSet(0);
        String more = Counts.text(others, "more failure was", "more failures were");
        log.warn(others == 0 ? message : message + "; %s not logged".formatted(more), failure);
    }
}
