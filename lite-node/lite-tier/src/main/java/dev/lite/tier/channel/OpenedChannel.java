package dev.lite.tier.channel;

import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.LinkKeys;
import org.jspecify.annotations.Nullable;

/**
 * A channel that was opened for an application, which has to be told. The owner calls {@link #announced} once. One thread.
 */
public final class OpenedChannel {
    private final NodeChannels node;
    private final ChannelEnd end;
    private final ChannelDescriptor descriptor;

    OpenedChannel(NodeChannels node, ChannelEnd end, ChannelDescriptor descriptor) {
        this.node = node;
        this.end = end;
        this.descriptor = descriptor;
    }

    /** Its number in the session. */
    public long number() {
        return end.number;
    }

    /** The layout of its memory. */
    public ChannelArea area() {
        return NodeChannels.AREA;
    }

    /** The descriptor of its memory or connection; closed by {@link #announced}. */
    public int descriptor() {
        return descriptor.number();
    }

    /** The keys of its connection; null if it has memory. */
    public @Nullable LinkKeys keys() {
        return descriptor.keys();
    }

    /**
     * The application was notified of the channel, or could not be. Closes the node's descriptor.
     *
     * @param sent whether it was notified; otherwise the channel ends
     */
    public void announced(boolean sent) {
        descriptor.close();
        if (sent) {
            node.announced(end);
        } else {
            node.end(end, "the calling application could not be told of the channel", false, true);
        }
    }
}
