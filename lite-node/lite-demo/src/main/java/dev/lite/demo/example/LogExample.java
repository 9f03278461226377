package dev.lite.demo.example;

import dev.lite.api.Lite;
import dev.lite.log.LiteLog;
import dev.lite.log.LiteLogs;
import dev.lite.log.LogCleaner;
import dev.lite.log.LogPosition;
import dev.lite.log.LogReader;
import dev.lite.log.LogSpec;
import dev.lite.log.LogTransaction;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An audit log that two services write at two nodes, and that a third one reads at another. Uses sessions with three nodes. One thread.
 */
public final class LogExample {
    private static final String LOG = "shop/audit";
    private static final String CONSUMER = "billing";
    private static final int ORDERS = 20_000;
    private static final Duration SOON = Duration.ofSeconds(20);

    private final List<Lite> sessions;
    private final Runnable restart;
    private final Consumer<String> lines;

    /**
     * @param sessions with three nodes; they stay the caller's
     * @param restart kills a node, and starts it again
     * @param lines receives what the example has to say
     */
    public LogExample(List<Lite> sessions, Runnable restart, Consumer<String> lines) {
        this.sessions = List.copyOf(sessions);
        this.restart = restart;
        this.lines = lines;
    }

    /**
     * Runs the example.
     *
     * @throws IllegalStateException if the log did not have what was appended
     */
    public void run() {
        LogSpec spec = LogSpec.defaults().withSegmentBytes(1 << 20).withRetentionBytes(1 << 20);
        try (LiteLogs paying = new LiteLogs(sessions.get(0));
                LiteLogs shipping = new LiteLogs(sessions.get(1));
                LiteLogs billing = new LiteLogs(sessions.get(2))) {
            LiteLog payments = paying.createOrOpen(LOG, spec);
            lines.accept("Created the log %s; its segments have %,d bytes".formatted(LOG, spec.segmentBytes()));
            try {
                write(payments, shipping.createOrOpen(LOG, spec));
                follow(billing.createOrOpen(LOG, spec));
                clean(payments);
                surviveRestart(payments, billing.createOrOpen(LOG, spec));
            } finally {
                paying.delete(LOG);
            }
            lines.accept("Deleted the log");
        }
    }

    /** Two services at the same time: one transaction at a time, and in batches. */
    private void write(LiteLog payments, LiteLog shipments) {
        long startNs = System.nanoTime();
        CompletableFuture<Void> paid = CompletableFuture.runAsync(() -> {
            for (int order = 0; order < ORDERS; order++) {
                payments.append(bytes("order %d".formatted(order)), bytes("paid"));
            }
        });
        List<CompletableFuture<Long>> shipped = new ArrayList<>();
        for (int order = 0; order < ORDERS; order++) {
            shipped.add(shipments.appendAsync(bytes("order %d".formatted(order)), bytes("shipped")));
        }
        shipped.forEach(CompletableFuture::join);
        paid.join();
        lines.accept("Two services committed %,d transactions of two entries in %,d ms"
                .formatted(2 * ORDERS, (System.nanoTime() - startNs) / 1_000_000));
    }

    /** A consumer that ends halfway and starts again where it committed. */
    private void follow(LiteLog log) {
        int count = consume(log, ORDERS);
        lines.accept("%s read %,d transactions, committed its position, and ended".formatted(CONSUMER, count));
        count += consume(log, Integer.MAX_VALUE);
        lines.accept("%s started again, and read the rest: %,d in all".formatted(CONSUMER, count));
        require(count == 2 * ORDERS, "the consumer read %d transactions, not %d".formatted(count, 2 * ORDERS));
    }

    private static int consume(LiteLog log, int max) {
        int count = 0;
        try (LogReader reader = log.consumer(CONSUMER, log.firstPosition())) {
            LogTransaction transaction = reader.next(SOON);
            while (transaction != null) {
                require(transaction.entries().size() == 2, "half a transaction: " + transaction);
                count++;
                transaction = count < max ? reader.next(Duration.ZERO) : null;
            }
            reader.commit();
        }
        return count;
    }

    private void clean(LiteLog log) {
        LogCleaner cleaner = log.startCleaner();
        long startNs = System.nanoTime();
        while (cleaner.segmentsRemoved() == 0) {
            require(System.nanoTime() - startNs < SOON.toNanos(), "the cleaner removed nothing");
            Thread.onSpinWait();
        }
        lines.accept("The cleaner removed what was read; the log begins at %s and ends at %s"
                .formatted(LogPosition.text(log.firstPosition()), LogPosition.text(log.endPosition())));
    }

    /** The log is in named memory, which outlives its node's process. */
    private void surviveRestart(LiteLog writer, LiteLog reader) {
        long position = writer.append(bytes("before the restart"));
        restart.run();
        writer.append(bytes("after the restart"));
        LogReader following = reader.reader(position);
        lines.accept("Read: %s, %s".formatted(text(following.next(SOON)), text(following.next(SOON))));
    }

    private static String text(@Nullable LogTransaction transaction) {
        if (transaction == null) {
            throw new IllegalStateException("the log lost a transaction");
        }
        return '"' + new String(transaction.bytes(0), StandardCharsets.UTF_8) + '"';
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new IllegalStateException(message);
        }
    }
}
