package dev.lite.system;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.cluster.process.ProcessEnd;
import dev.lite.log.AppendUncertainException;
import dev.lite.log.LiteLog;
import dev.lite.log.LiteLogs;
import dev.lite.log.LogException;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * An application that appends to a log until its input or its parent process ends, or it is killed. It prints a line for each outcome:
 * {@code A SEQUENCE POSITION} when a transaction is in the log, {@code R SEQUENCE} when it is not, {@code U SEQUENCE} when that is not
 * known. Of every 64 transactions, it appends 32 one at a time and 32 as a batch.
 */
final class LogWriter {
    private static final Duration DEADLINE = Waits.seconds(60);
    /** Pause between two batches, because starting processes need the processor, too. */
    private static final Duration PACE = Duration.ofMillis(3);

    private static final int ROUND = 32;

    private LogWriter() {}

    /** @param arguments the process to end with, the node's socket, the log's name, the writer's number */
    static void main(String[] arguments) throws IOException {
        ProcessEnd.whenEnded(
                Long.parseLong(arguments[0]), () -> Runtime.getRuntime().halt(0));
        int writer = Integer.parseInt(arguments[3]);
        try (Lite lite = Lite.attach(Lite.AttachOptions.to(Path.of(arguments[1]), "system-test")
                        .withReattach(true)
                        .withDeadline(Duration.ofSeconds(2)));
                LiteLogs logs = new LiteLogs(lite, DEADLINE)) {
            LiteLog log = logs.open(arguments[2]);
            log.startCleaner(); // killed with this process, perhaps while it is the elected one
            int sequence = 0;
            while (System.in.available() == 0) {
                for (int count = 0; count < ROUND; count++) {
                    appendOne(log, writer, sequence++);
                }
                appendBatch(log, writer, sequence);
                sequence += ROUND;
                Waits.pass(PACE);
            }
        }
        System.out.println("END");
    }

    private static void appendOne(LiteLog log, int writer, int sequence) {
        try {
            acknowledged(sequence, log.append(CommitChecker.transaction(writer, sequence)));
        } catch (LiteException | LogException e) {
            failed(sequence, e);
        }
    }

    private static void appendBatch(LiteLog log, int writer, int first) {
        Queue<CompletableFuture<Long>> futures = new ArrayDeque<>();
        for (int count = 0; count < ROUND; count++) {
            futures.add(log.appendAsync(CommitChecker.transaction(writer, first + count)));
        }
        for (int sequence = first; !futures.isEmpty(); sequence++) {
            try {
                acknowledged(sequence, futures.remove().join());
            } catch (CompletionException e) {
                failed(sequence, e.getCause());
            }
        }
    }

    private static void acknowledged(int sequence, long position) {
        System.out.println("A %d %d".formatted(sequence, position));
    }

    private static void failed(int sequence, @Nullable Throwable error) {
        System.err.println(error);
        System.out.println((error instanceof AppendUncertainException ? "U " : "R ") + sequence);
    }
}
