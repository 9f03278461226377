package dev.lite.tier.channel;

import java.time.Duration;

/** Sets how long a node waits for applications with channels: tests of that wait for it. */
public final class ChannelTimes {
    private ChannelTimes() {}

    /** How long a serving application may take to answer an offer. */
    public static void setAnswerMax(NodeChannels node, Duration longest) {
        node.setAnswerMax(longest);
    }

    /** How long calls under way may last when calls pass the nodes from then on. */
    public static void setRetirement(NodeChannels node, Duration longest) {
        node.setRetirement(longest);
    }
}
