package dev.lite.session.channel;

import java.lang.foreign.MemorySegment;

/**
 * Room for one request, for many {@linkplain ChannelServer#receive receives} in turn. One thread at a time. The request is a copy:
 * the caller cannot change it.
 */
public final class ReceivedRequest {
    final MemorySegment room;
    private int length;
    private long call;

    /** Room for the longest request of such a channel. */
    public ReceivedRequest(ChannelArea area) {
        room = MemorySegment.ofArray(new byte[area.windowBytes()]);
    }

    void set(long call, int length) {
        this.call = call;
        this.length = length;
    }

    /** The length of the request in bytes. */
    public int length() {
        return length;
    }

    /** The memory of the request: its first {@link #length} bytes. The next receive overwrites it. */
    public MemorySegment bytes() {
        return room;
    }

    /** The number of the call, for {@link ChannelServer#reply}; never the same for two calls of a channel. */
    public long call() {
        return call;
    }
}
