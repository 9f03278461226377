package com.ibm.disni.verbs.impl;

import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.os.RawMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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

    /** What the device and the connection manager have now, such as {@code region 1} and {@code id 100}. */
    public final Set<String> open = ConcurrentHashMap.newKeySet();

    /** For so many registrations there is memory in this process. */
    public final AtomicLong registrations = new AtomicLong(Long.MAX_VALUE);

    /** So many deregistrations fail. */
    public final AtomicLong lastingRegions = new AtomicLong();

    /** Addresses for completions. */
    public final List<Long> polls = new CopyOnWriteArrayList<>();

    /** The ids of receives into which immediates came. */
    public final Queue<Long> immediates = new ConcurrentLinkedQueue<>();

    /** Runs after each event of an id. */
    public volatile Runnable afterEvent = () -> {};

    /** For the call of this name there is no memory in this process. */
    public volatile String withoutMemory = "";

    /** The next calls fail. */
    public volatile boolean channelFails;

    public volatile boolean notificationFails;

    public volatile boolean bindFails;

    private static final int ADDRESS_RESOLVED = 0;
    private static final int ROUTE_RESOLVED = 2;
    private static final int CONNECT_REQUEST = 4;
    private static final int ESTABLISHED = 9;
    private static final int NO_EVENT = -1;
    private static final long SOME_HANDLE = 8;
    private static final long COMPLETION_CHANNEL_DESCRIPTOR = 8;
    private static final int COMPLETION_FLAGS = 36;
    private static final int WITH_IMMEDIATE = 2;

    private final MemorySegment channel = Arena.ofAuto().allocate(2 * Long.BYTES, Long.BYTES);
    private final AtomicLong ids = new AtomicLong();
    private final AtomicLong regions = new AtomicLong();

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
        long id = ids.incrementAndGet();
        open.add("id " + id);
        return id;
    }

    @Override
    public int _destroyCmId(long id) {
        open.remove("id " + id);
        return 0;
    }

    @Override
    public void _resolveAddr(long id, long source, long target, int timeoutMs) {
        happens("resolveAddr", id, ADDRESS_RESOLVED);
    }

    @Override
    public void _resolveRoute(long id, int timeoutMs) {
        happens("resolveRoute", id, ROUTE_RESOLVED);
    }

    @Override
    public void _connect(long id, int retries, int rnrRetries, long data, byte length) {
        happens("connect", id, ESTABLISHED);
    }

    private void happens(String call, long id, int event) {
        requireMemory(call);
        events.add(new Event(id, event));
        afterEvent.run();
    }

    private void requireMemory(String call) {
        if (call.equals(withoutMemory)) {
            throw new OutOfMemoryError("no memory for this call, on purpose");
        }
    }

    @Override
    public long _getContext(long id) {
        return SOME_HANDLE;
    }

    @Override
    public long _allocPd(long context) {
        open.add("domain");
        return SOME_HANDLE;
    }

    @Override
    public int _deallocPd(long domain) {
        open.remove("domain");
        return 0;
    }

    @Override
    public long _createCompChannel(long context) {
        open.add("channel");
        return channel.address();
    }

    @Override
    public int _destroyCompChannel(long address) {
        open.remove("channel");
        return 0;
    }

    @Override
    public long _createCQ(long context, long address, int entries, int vector) {
        open.add("queue");
        return SOME_HANDLE;
    }

    @Override
    public int _destroyCQ(long queue) {
        open.remove("queue");
        return 0;
    }

    @Override
    public int _pollCQ(long queue, int count, long completions) {
        polls.add(completions);
        int taken = 0;
        for (Long id; taken < count && (id = immediates.poll()) != null; taken++) {
            long completion = completions + (long) taken * Completion.BYTES;
            RawMemory.fill(completion, Completion.BYTES, (byte) 0);
            RawMemory.putLong(completion, id);
            RawMemory.putInt(completion + COMPLETION_FLAGS, WITH_IMMEDIATE);
        }
        return taken;
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
            open.add("id " + request);
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
        requireMemory("createQP");
        open.add("queue pair of " + id);
        return SOME_HANDLE;
    }

    @Override
    public int _destroyQP(long id) {
        open.remove("queue pair of " + id);
        return 0;
    }

    @Override
    public int _disconnect(long id) {
        return 0;
    }

    @Override
    public long _regMr(long domain, long address, int bytes, int access, long local, long remote, long handle) {
        if (registrations.getAndDecrement() <= 0) {
            throw new OutOfMemoryError("no memory for this registration, on purpose");
        }
        long region = regions.incrementAndGet();
        open.add("region " + region);
        return region;
    }

    @Override
    public void _deregMr(long region) throws IOException {
        if (lastingRegions.getAndDecrement() > 0) {
            throw new IOException("Device or resource busy");
        }
        open.remove("region " + region);
    }

    @Override
    public int _reqNotifyCQ(long queue, int solicited) throws IOException {
        if (notificationFails) {
            throw new IOException("Input/output error");
        }
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
