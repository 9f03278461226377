package dev.lite.demo.app;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LtLock;
import dev.lite.api.RpcServer;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Counts words on the nodes that hold them: every application serves a function on its node that counts the words of one
 * extent, and one application calls it for all extents. A request is an offset and a length; a reply is the number of words
 * that begin there.
 *
 * <p>Each call ends with an update of the {@link Tally}, under a lock.
 */
final class CountCalls {

    private static final String FUNCTION = "demo/count-words";
    private static final String LOCK = "demo/tally";
    private static final int AT_ONCE = 2;

    /** The totals of the calls to one node. */
    record OfNode(int extents, long words) {}

    private final Lite lite;
    private final LmrHandle file;
    private final Control control;
    private final WordRule rule;
    private final Duration deadline;

    CountCalls(Lite lite, LmrHandle file, Control control, WordRule rule, Duration deadline) {
        this.lite = lite;
        this.file = file;
        this.control = control;
        this.rule = rule;
        this.deadline = deadline;
    }

    /** Serves the function on this application's node until the server is closed. */
    RpcServer serve() {
        LtLock lock = lite.sync().lock(LOCK);
        return lite.rpc().register(FUNCTION, AT_ONCE, call -> {
            ByteBuffer request = call.request().asByteBuffer();
            long words = count(request.getLong(), request.getLong(), lock);
            return MemorySegment.ofBuffer(
                    ByteBuffer.allocate(Long.BYTES).putLong(words).flip());
        });
    }

    private long count(long offset, long length, LtLock lock) {
        // Each call has its own buffer, because several run concurrently.
        long words = new Pieces(file, control).count(rule, offset, offset + length);
        control.add(Control.Word.WORDS, words);
        try (HeldLock held = lock.acquire(deadline)) {
            control.enter(new Tally(1, length, words), held.fencingToken());
        }
        return words;
    }

    /** Calls the function for every extent on the node that holds it, all nodes in parallel; returns the totals by node. */
    Map<String, OfNode> call(List<Extent> extents, Progress progress) {
        Map<String, List<Extent>> byNode = new TreeMap<>();
        extents.forEach(extent ->
                byNode.computeIfAbsent(extent.node(), node -> new ArrayList<>()).add(extent));
        Map<String, Future<OfNode>> counting = new TreeMap<>();
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            byNode.forEach((node, its) -> counting.put(node, executor.submit(callsTo(node, its, progress))));
        }
        Map<String, OfNode> counted = new TreeMap<>();
        counting.forEach((node, future) -> counted.put(node, result(node, future)));
        return counted;
    }

    private Callable<OfNode> callsTo(String node, List<Extent> extents, Progress progress) {
        return () -> {
            long words = 0;
            for (Extent extent : extents) {
                byte[] request = ByteBuffer.allocate(2 * Long.BYTES)
                        .putLong(extent.offset())
                        .putLong(extent.length())
                        .array();
                words += ByteBuffer.wrap(lite.rpc().call(node, FUNCTION, request, deadline))
                        .getLong();
                synchronized (progress) {
                    progress.add(extent.length());
                }
            }
            return new OfNode(extents.size(), words);
        };
    }

    private static OfNode result(String node, Future<OfNode> future) {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException failure
                    ? failure
                    : new DemoException("counting on %s failed".formatted(node), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DemoException("interrupted while counting on " + node, e);
        }
    }
}
