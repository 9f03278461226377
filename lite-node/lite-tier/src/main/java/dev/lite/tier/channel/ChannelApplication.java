package dev.lite.tier.channel;

import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.LinkKeys;
import org.jspecify.annotations.Nullable;

/** What a node asks of an attached application about its channels. Virtual threads, or the threads of the application's requests. */
public interface ChannelApplication {

    /**
     * Offers a channel to a function that the application serves. May block while the application does not read, for a second at most.
     *
     * @param server the number of the function in the session
     * @param node of the caller
     * @param principal of the caller
     * @param descriptor of the memory or the connection; sent, and still the node's
     * @param keys of the connection; null if the descriptor is that of memory
     * @return false if it could not be sent
     */
    boolean offer(
            long channel,
            long server,
            ChannelArea area,
            String node,
            String principal,
            int descriptor,
            @Nullable LinkKeys keys);

    /** Whether it can use channels to other hosts; constant. */
    boolean takesLinks();

    /** Asks it to close a channel through which it calls when its calls under way have ended. May block like {@link #offer}. */
    void retired(long channel, String reason);

    /** Says that a channel has ended. May block like {@link #offer}. */
    void ended(long channel, String reason);

    /**
     * The application has taken its first channel of a function, or has lost the last one. Its receives that do not know it end, so that
     * its threads notice. Never blocks.
     */
    void channels(long server, boolean any);
}
