package com.ibm.disni.verbs.impl;

import dev.lite.os.RawMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The calls of the connection manager and of queue pairs without a device: what is posted never completes. In
 * this package because DiSNI's constructor is visible only here.
 */
public final class FakeConnectionManager extends NativeDispatcher {
    /** Handles of peers that want to connect, as the next events. */
    public final Queue<Long> requests = new ConcurrentLinkedQueue<>();

    /** Events of ids, after those. */
    public final Queue<Event> events = new ConcurrentLinkedQueue<>();

    /** The ids of all posted receives. */
    public final List<Long> receives = new CopyOnWriteArrayList<>();

    /** So many sends are taken; the others are refused. */
    public final AtomicLong sends = new AtomicLong(Long.MAX_VALUE);

    /** Runs before each send. */
    public volatile Runnable beforeSend = () -> {};

    /** The next calls fail. */
    public volatile boolean channelFails;

    public volatile boolean bindFails;

    private static final int CONNECT_REQUEST = 4;
    private static final int NO_EVENT = -1;
    private static final long SOME_HANDLE = 8;
    private static final long COMPLETION_CHANNEL_DESCRIPTOR = 8;

    private final MemorySegment channel = Arena.ofAuto().allocate(2 * Long.BYTES, Long.BYTES);
    private final AtomicLong ids = new AtomicLong();

    /** @param descriptor of the channel; never readable: the manager's thread looks for events whenever it wakes */
    public FakeConnectionManager(int descriptor) throws IOException {
        channel.set(ValueLayout.JAVA_INT, 0, descriptor);
        channel.set(ValueLayout.JAVA_INT, COMPLETION_CHANNEL_DESCRIPTOR, descriptor);
    }

    /**
     * An event of an id.
     *
     * @param id its handle
     * @param type as in {@code enum rdma_cm_event_type}
     */
    public record Event(long id, int type) {}

    /** A completion channel with the same descriptor. */
    public long completionChannel() {
        return channel.address();
    }

    @Override
    public long _createEventChannel() throws IOException {
        if (channelFails) {
            throw new IOException("Permission denied");
        }
        return channel.address();
    }

    @Override
    public int _destroyEventChannel(long address) {
        return 0;
    }

    @Override
    public long _createId(long address, short portSpace) {
        return ids.incrementAndGet();
    }

    @Override
    public int _destroyCmId(long id) {
        return 0;
    }

    @Override
    public void _bindAddr(long id, long address) throws IOException {
        if (bindFails) {
            throw new IOException("Address already in use");
        }
    }

    @Override
    public void _listen(long id, int backlog) {}

    @Override
    public int _getCmEvent(long address, long listener, long id, int timeoutMs) {
        Long request = requests.poll();
        if (request != null) {
            RawMemory.putLong(id, request);
            return CONNECT_REQUEST;
        }
        Event event = events.poll();
        if (event == null) {
            return NO_EVENT;
        }
        RawMemory.putLong(id, event.id());
        return event.type();
    }

    @Override
    public long _createQP(
            long id, long domain, long sendQueue, long receiveQueue, int type, int sends, int receives, int inline) {
        return SOME_HANDLE;
    }

    @Override
    public int _destroyQP(long id) {
        return 0;
    }

    @Override
    public int _disconnect(long id) {
        return 0;
    }

    @Override
    public long _regMr(long domain, long address, int bytes, int access, long local, long remote, long handle) {
        return SOME_HANDLE;
    }

    @Override
    public void _deregMr(long region) {}

    @Override
    public int _reqNotifyCQ(long queue, int solicited) {
        return 0;
    }

    @Override
    public void _postSend(long queuePair, long request) throws IOException {
        beforeSend.run();
        if (sends.getAndDecrement() <= 0) {
            throw new IOException("Cannot allocate memory");
        }
    }

    @Override
    public void _postRecv(long queuePair, long request) {
        for (long next = request; next != 0; next = RawMemory.getLong(next + Long.BYTES)) {
            receives.add(RawMemory.getLong(next));
        }
    }
}
