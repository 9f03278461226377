package dev.lite.tier.channel;

/**
 * The attached application that serves a function. Any thread.
 *
 * @param session its channels
 * @param server the number of the function in the session
 */
public record ChannelHost(SessionChannels session, long server) {

    /**
     * Asks the callers of all channels to this server to close them when their calls under way have ended. Ends channels that are not
     * taken yet. Never blocks.
     */
    public void retire(String reason) {
        session.retireServer(server, reason);
    }
}
