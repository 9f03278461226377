package dev.lite.tier.session;

import dev.lite.api.LtRpc;
import dev.lite.api.Priority;
import dev.lite.testing.Waits;
import dev.lite.tier.session.CallBook.Call;
import dev.lite.tier.session.CallBook.Function;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** A thread that makes random calls, and sends messages, until {@link #stop}. */
final class HistoryCaller {
    private static final int SHORT_MS_MAX = 12;

    final Thread thread;
    final Interrupts interrupts;
    private final CallBook book;
    private final Random random;
    private final AtomicReferenceArray<HistoryApp> apps;
    private final List<Function> functions;
    private final List<Function> ports;
    private final MemorySegment reply = MemorySegment.ofArray(new byte[64 << 10]);
    private volatile boolean stopped;

    HistoryCaller(
            CallBook book,
            long seed,
            boolean virtual,
            AtomicReferenceArray<HistoryApp> apps,
            List<Function> functions,
            List<Function> ports) {
        this.book = book;
        this.random = new Random(seed);
        this.apps = apps;
        this.functions = functions;
        this.ports = ports;
        thread = virtual
                ? Thread.ofVirtual().unstarted(this::run)
                : Thread.ofPlatform().unstarted(this::run);
        interrupts = new Interrupts(thread, book);
    }

    void stop() {
        stopped = true;
    }

    private void run() {
        try {
            while (!stopped) {
                switch (random.nextInt(9)) {
                    case 0, 1, 2 -> call(begin());
                    case 3 -> callIntoSegment(begin());
                    case 4 -> callAndGet(begin());
                    case 5 -> callAndCancel(begin());
                    case 6 -> send(begin(ports));
                    default -> callSeveral(1 + random.nextInt(6));
                }
                if (random.nextInt(4) == 0) {
                    Waits.pass(Duration.ofNanos(random.nextInt(3_000_000)));
                    interrupts.check("a pause");
                }
            }
        } catch (RuntimeException | Error e) {
            book.wrong("a caller's thread failed: " + e);
        }
    }

    private Call begin() {
        return begin(functions);
    }

    private Call begin(List<Function> among) {
        HistoryApp by = apps.get(random.nextInt(apps.length()));
        Function function = among.get(random.nextInt(among.size()));
        int holdMs = random.nextInt(4) == 0 ? random.nextInt(SHORT_MS_MAX) : 0;
        Duration deadline =
                random.nextInt(3) == 0 ? Duration.ofNanos(1 + random.nextInt(SHORT_MS_MAX * 1_000_000)) : CallBook.LONG;
        Priority priority = random.nextInt(6) == 0 ? Priority.LOW : Priority.HIGH;
        return book.begin(by, function, deadline, holdMs, random.nextInt(10) == 0, priority, context(function));
    }

    /** Of a call; a message has none. */
    private @Nullable String context(Function function) {
        return function.isPort() || random.nextInt(4) > 0
                ? null
                : "\u00e4".repeat(1 + random.nextInt(LtRpc.CONTEXT_BYTES_MAX / 2));
    }

    private void call(Call call) {
        try {
            byte[] its = call.by.client(call).call(call.request, call.deadline());
            book.returned(call, MemorySegment.ofArray(its));
        } catch (RuntimeException e) {
            book.failed(call, e);
        }
        interrupts.check(call.toString());
    }

    private void callIntoSegment(Call call) {
        try {
            long length = call.by.client(call).call(MemorySegment.ofArray(call.request), reply, call.deadline());
            book.returned(call, reply.asSlice(0, length));
        } catch (RuntimeException e) {
            book.failed(call, e);
        }
        interrupts.check(call.toString());
    }

    private void send(Call message) {
        try {
            message.by.send(message);
            book.sent(message);
        } catch (RuntimeException e) {
            book.failed(message, e);
        }
        interrupts.check(message.toString());
    }

    private CompletableFuture<byte[]> start(Call call) {
        try {
            return call.by.client(call).callAsync(call.request, call.deadline());
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void join(Call call, CompletableFuture<byte[]> future) {
        if (future.isDone()) {
            call.endedEarlier();
        }
        try {
            book.returned(call, MemorySegment.ofArray(future.join()));
        } catch (CompletionException e) {
            book.failed(call, e.getCause() == null ? e : e.getCause());
        } catch (RuntimeException e) {
            book.failed(call, e);
        }
        interrupts.check("join of " + call);
    }

    private void callSeveral(int count) {
        List<Call> calls = new ArrayList<>();
        List<CompletableFuture<byte[]>> futures = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            calls.add(begin());
            futures.add(start(calls.getLast()));
        }
        for (int i = 0; i < count; i++) {
            join(calls.get(i), futures.get(i));
        }
    }

    private void callAndGet(Call call) {
        CompletableFuture<byte[]> future = start(call);
        try {
            book.returned(call, MemorySegment.ofArray(future.get()));
            interrupts.check("get of " + call);
        } catch (InterruptedException e) {
            interrupts.thrown("get of " + call);
            join(call, future);
        } catch (ExecutionException e) {
            book.failed(call, e.getCause() == null ? e : e.getCause());
            interrupts.check("get of " + call);
        }
    }

    private void callAndCancel(Call call) {
        CompletableFuture<byte[]> future = start(call);
        Waits.pass(Duration.ofNanos(random.nextInt(500_000)));
        if (!future.cancel(random.nextBoolean())) {
            join(call, future);
            return;
        }
        book.abandoned(call);
        try {
            byte[] its = future.join();
            book.wrong("%s was cancelled and has a reply of %d bytes".formatted(call, its.length));
        } catch (CancellationException expected) {
            // as it should be
        }
        interrupts.check("cancellation of " + call);
    }
}
