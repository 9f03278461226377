package dev.lite.tier.session;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcMessages.Message;
import dev.lite.api.SessionLostException;
import dev.lite.tier.session.CallBook.Call;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Random;

/** A port of a random history, and the threads that receive from it. */
final class HistoryPort extends HistoryService {
    private static final int THREADS_MAX = 2;
    private static final int DEADLINE_MS_MAX = 60;

    private final RpcMessages messages;

    HistoryPort(CallBook book, HistoryApp app, CallBook.Function function, Random random) {
        super(book, app, function);
        messages = app.lite.rpc().messages(function.name());
        start(THREADS_MAX, random, this::receive);
    }

    private void receive(Random random, Interrupts interrupts) {
        String what = "receive of " + function.name();
        while (true) {
            Duration deadline = Duration.ofNanos(1 + random.nextInt(DEADLINE_MS_MAX * 1_000_000));
            long beganNs = System.nanoTime();
            try {
                received(messages.receive(deadline));
            } catch (LiteTimeoutException e) {
                if (System.nanoTime() - beganNs < deadline.toNanos()) {
                    book.wrong("a %s ended too early: %s".formatted(what, e));
                }
            } catch (SessionLostException e) {
                if (!isClosing()) {
                    book.wrong("a %s failed: %s".formatted(what, e));
                }
                return;
            } catch (RuntimeException e) {
                book.wrong("a %s failed: %s".formatted(what, e));
            } finally {
                interrupts.check(what);
            }
        }
    }

    private void received(Message message) {
        Call call = book.executed(MemorySegment.ofArray(message.data()), null, function);
        if (call != null && !message.senderNode().equals(call.by.node)) {
            book.wrong("%s came from %s".formatted(call, message.senderNode()));
        }
    }

    @Override
    void closeNow() {
        messages.close();
    }
}
