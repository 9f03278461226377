package dev.lite.fabric.conformance;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A fabric, its memory and its recorder. Peers address the lower half of the memory. The upper half has the local buffers, so that
 * drivers that need registered local memory can run the same cases.
 *
 * <p>The test thread holds the poll role and calls {@link #step}. Between {@link #startPolling} and {@link #stopPolling}, a
 * separate thread holds it.
 */
final class TestNode {
    private static final int POLL_LIMIT = 64;
    private static final long AWAIT_NS = 1_000_000;

    final String name;
    final Fabric fabric;
    final Recorder recorder;
    final FabricMemory memory;

    private long localUsed;
    private long lastCalls; // polling thread
    private boolean closed;
    private volatile boolean stopping;

    @Nullable
    private Thread poller;

    TestNode(String name, Fabric fabric, Recorder recorder, FabricMemory memory) {
        this.name = name;
        this.fabric = fabric;
        this.recorder = recorder;
        this.memory = memory;
        this.localUsed = memory.segment().byteSize() / 2;
    }

    /** The part of the memory that peers may write to. */
    MemorySegment target() {
        return memory.segment().asSlice(0, memory.segment().byteSize() / 2);
    }

    /** Allocates local memory for posts of this node; valid until the fabrics are closed. Not thread-safe. */
    MemorySegment local(long bytes) {
        long start = (localUsed + 7) & -8L;
        localUsed = start + bytes;
        return memory.segment().asSlice(start, bytes);
    }

    /** Frees all memory from {@link #local}. */
    void freeLocals() {
        localUsed = memory.segment().byteSize() / 2;
    }

    Recorder.Log log(FabricEndpoint endpoint) {
        return recorder.log(endpoint);
    }

    FabricEndpoint connect(TestNode other) {
        return connect(other.fabric.localAddress());
    }

    FabricEndpoint connect(String address) {
        FabricEndpoint endpoint = fabric.connect(address);
        log(endpoint);
        return endpoint;
    }

    boolean isConnected(FabricEndpoint endpoint) {
        return log(endpoint).connected.get() > 0;
    }

    boolean isDisconnected(FabricEndpoint endpoint) {
        return log(endpoint).disconnected.get() > 0;
    }

    /** Polls once. Does nothing while this node has a poll thread. */
    int step() {
        return poller == null ? poll(POLL_LIMIT) : 0;
    }

    int poll(int limit) {
        recorder.enter();
        int handedOver = fabric.poll(limit);
        long calls = recorder.leave();
        lastCalls = calls;
        // In drivers that need the owner's processor, a poll that only served a peer's request answers 1. Others
        // answer exactly the number of calls.
        var capabilities = fabric.capabilities();
        boolean onlyForAPeer =
                calls == 0 && handedOver == 1 && (!capabilities.oneSided() || capabilities.atomicsByOwner());
        if ((calls != handedOver && !onlyForAPeer) || calls > limit) {
            recorder.violation("poll(%d) answered %d and made %d calls".formatted(limit, handedOver, calls));
        }
        return handedOver;
    }

    /** Calls of the handler in the last poll. Unlike its answer, without what only served the peer, such as an answer to a ping. */
    long lastCalls() {
        return lastCalls;
    }

    boolean isStepped() {
        return poller == null && !closed;
    }

    /** Starts a poll thread that also polls at short intervals. */
    void startPolling() {
        startPolling(AWAIT_NS);
    }

    /** Starts a poll thread that waits without a timeout, so that a missing wake-up shows. */
    void startForeverPolling() {
        startPolling(WaitingCases.FOREVER_NS);
    }

    private void startPolling(long awaitNs) {
        stopping = false;
        poller = Thread.ofPlatform().daemon().name("poll-" + name).start(() -> {
            while (!stopping) {
                if (poll(POLL_LIMIT) == 0) {
                    fabric.await(awaitNs);
                }
            }
        });
    }

    /** Starts a poll thread that waits armed whenever there is nothing to poll, so that a missing wake-up shows. */
    void startStandbyThread() {
        stopping = false;
        poller = Thread.ofPlatform().daemon().name("poll-" + name).start(() -> {
            while (!stopping) {
                fabric.disarm();
                while (poll(4) > 0 || !fabric.arm()) {
                    fabric.disarm();
                }
                fabric.awaitArmed(WaitingCases.FOREVER_NS);
            }
        });
    }

    /** Stops the poll thread; the test thread holds the poll role again. */
    void stopPolling() {
        Thread thread = poller;
        if (thread == null) {
            return;
        }
        stopping = true;
        fabric.wakeup();
        join(thread);
        poller = null;
    }

    void close() {
        stopPolling();
        recorder.enter();
        fabric.close();
        recorder.leave();
        closed = true;
    }

    static void join(Thread thread) {
        try {
            if (!thread.join(Duration.ofNanos(Deadline.scaledNs(Duration.ofSeconds(30))))) {
                throw new AssertionError(thread + " did not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while joining " + thread, e);
        }
    }

    /** Reads the 64-bit word at an offset of this memory, like its owner does. */
    long word(long offset) {
        return (long) JAVA_LONG.varHandle().getVolatile(memory.segment(), offset);
    }

    void word(long offset, long value) {
        JAVA_LONG.varHandle().setVolatile(memory.segment(), offset, value);
    }

    byte[] bytes(long offset, long length) {
        return memory.segment().asSlice(offset, length).toArray(JAVA_BYTE);
    }
}
