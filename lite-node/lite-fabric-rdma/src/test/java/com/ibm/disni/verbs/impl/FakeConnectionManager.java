package com.ibm.disni.verbs.impl;

import dev.lite.os.RawMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The calls of the connection manager without a device. In this package because DiSNI's constructor is visible only here.
 */
public final class FakeConnectionManager extends NativeDispatcher {
    /** Handles of peers that want to connect, as the next events. */
    public final Queue<Long> requests = new ConcurrentLinkedQueue<>();

    /** The next calls fail. */
    public volatile boolean channelFails;

    public volatile boolean bindFails;

    private static final int CONNECT_REQUEST = 4;
    private static final int NO_EVENT = -1;

    private final MemorySegment channel = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);
    private final AtomicLong ids = new AtomicLong();

    /** @param descriptor of the channel; never readable: the manager's thread looks for events whenever it wakes */
    public FakeConnectionManager(int descriptor) throws IOException {
        channel.set(ValueLayout.JAVA_INT, 0, descriptor);
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
        if (request == null) {
            return NO_EVENT;
        }
        RawMemory.putLong(id, request);
        return CONNECT_REQUEST;
    }
}
