package dev.lite.tier.session;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcMessages.Message;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import dev.lite.tier.session.CallBook.Call;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** A port of a random history, and the threads that receive from it. */
final class HistoryPort implements HistoryService {
    private static final int THREADS_MAX = 2;
    private static final int DEADLINE_MS_MAX = 60;

    private final CallBook book;
    private final HistoryApp app;
    private final CallBook.Function function;
    private final RpcMessages messages;
    private final List<Thread> threads = new ArrayList<>();
    private final List<Interrupts> interrupts = new ArrayList<>();
    private volatile boolean closing;

    HistoryPort(CallBook book, HistoryApp app, CallBook.Function function, Random random) {
        this.book = book;
        this.app = app;
        this.function = function;
        messages = app.lite.rpc().messages(function.name());
        for (int i = random.nextInt(THREADS_MAX); i >= 0; i--) {
            Random its = new Random(random.nextLong());
            int number = threads.size();
            Runnable task = () -> receive(its, number);
            Thread thread = random.nextBoolean()
                    ? Thread.ofVirtual().unstarted(task)
                    : Thread.ofPlatform().unstarted(task);
            threads.add(thread);
            interrupts.add(new Interrupts(thread, book));
        }
        threads.forEach(Thread::start);
    }

    private void receive(Random random, int number) {
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
                if (!closing) {
                    book.wrong("a %s failed: %s".formatted(what, e));
                }
                return;
            } catch (RuntimeException e) {
                book.wrong("a %s failed: %s".formatted(what, e));
            } finally {
                interrupts.get(number).check(what);
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
    public HistoryApp app() {
        return app;
    }

    @Override
    public CallBook.Function function() {
        return function;
    }

    @Override
    public void interruptOne(Random random) {
        interrupts.get(random.nextInt(interrupts.size())).interrupt();
    }

    @Override
    public void announceClose() {
        closing = true;
    }

    @Override
    public void close() {
        closing = true;
        messages.close();
    }

    @Override
    public void awaitThreads() {
        threads.forEach(Waits::join);
    }
}
