package dev.lite.session.channel;

import dev.lite.os.FutexWords;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Room for one request, for many {@linkplain ChannelGroup#receive receives} in turn. One thread at a time. The request is a copy:
 * the caller cannot change it.
 */
public final class ReceivedRequest {
    final MemorySegment room;
    /** The words of the thread that waits with this room. */
    final FutexWords words = new FutexWords();

    private int length;
    private long call;
    private @Nullable ChannelServer channel;

    /** Room for the longest request of such a channel. */
    public ReceivedRequest(ChannelArea area) {
        room = MemorySegment.ofArray(new byte[area.windowBytes()]);
    }

    void set(ChannelServer channel, long call, int length) {
        this.channel = channel;
        this.call = call;
        this.length = length;
    }

    /** The channel through which the request came; it takes the reply. */
    public ChannelServer channel() {
        if (channel == null) {
            throw new IllegalStateException("no request was received");
        }
        return channel;
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
