package dev.lite.tier.channel;

import dev.lite.fabric.FabricKeys;
import dev.lite.fabric.FabricStream;
import dev.lite.os.Linux;
import dev.lite.session.channel.LinkKeys;
import org.jspecify.annotations.Nullable;

/**
 * What an application needs for its end of a channel, while its node has it.
 *
 * @param number of the descriptor: of the memory that both ends have, or of the connection of both ends
 * @param keys of the connection; null if there is none
 * @param release closes the descriptor
 */
record ChannelDescriptor(int number, @Nullable LinkKeys keys, Runnable release) {

    /** @param memory a descriptor that this node has made or a peer has passed */
    static ChannelDescriptor of(int memory) {
        return new ChannelDescriptor(memory, null, () -> Linux.closeDescriptor(memory));
    }

    static ChannelDescriptor of(FabricStream stream) {
        FabricKeys keys = stream.keys();
        return new ChannelDescriptor(
                stream.descriptor(),
                keys == null ? LinkKeys.NONE : new LinkKeys(keys.send(), keys.receive()),
                () -> Linux.closeDescriptor(stream.descriptor()));
    }

    /** Call it once. */
    void close() {
        release.run();
    }
}
