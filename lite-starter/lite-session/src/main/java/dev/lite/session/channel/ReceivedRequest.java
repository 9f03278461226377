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
    private int contextLength;
    private long call;
    private @Nullable ChannelServer channel;

    /** Room for the longest request of such a channel. */
    public ReceivedRequest(ChannelArea area) {
        room = MemorySegment.ofArray(new byte[area.windowBytes()]);
    }

    void set(ChannelServer channel, long call, int length, int contextLength) {
        this.channel = channel;
        this.call = call;
        this.length = length;
        this.contextLength = contextLength;
    }

    /** The channel through which the request came; it takes the reply. */
    public ChannelServer channel() {
        if (channel == null) {
            throw new IllegalStateException("no request was received");
        }
        return channel;
    }

    /** The length of the context and the request in bytes. */
    public int length() {
        return length;
    }

    /** The length of the context in bytes; 0 if there is none. */
    public int contextLength() {
        return contextLength;
    }

    /** The memory of the context and the request: the first {@link #length} bytes. The next receive overwrites it. */
    public MemorySegment bytes() {
        return room;
    }

    /** The number of the call, for {@link ChannelServer#reply}; never the same for two calls of a channel. */
    public long call() {
        return call;
    }
}
