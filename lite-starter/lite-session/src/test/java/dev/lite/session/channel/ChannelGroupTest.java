package dev.lite.session.channel;

import static dev.lite.session.channel.TestChannel.LONG_NS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.testing.Waits;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A group's sources in turn. */
class ChannelGroupTest {
    private static final ChannelGroup.Beside READY = new ChannelGroup.Beside() {
        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public boolean announce(FutexWords words) {
            return false;
        }
    };

    @Test
    void busyChannelsDoNotKeepBackTheOtherSource() {
        try (TestChannel channel = new TestChannel(4)) {
            ChannelGroup group = new ChannelGroup(ended -> {}, new PolledWaits("polls", 0), 0);
            assertThat(group.add(channel.server)).isTrue();
            for (int i = 0; i < 4; i++) {
                Thread unused = Thread.ofPlatform().daemon().start(() -> {
                    Throwable ended = catchThrowable(() -> channel.call(1, LONG_NS));
                    assertThat(ended).isInstanceOf(ChannelEndedException.class);
                });
            }
            Waits.until(
                    "four requests are submitted",
                    () -> Long.bitCount(RawMemory.getLongVolatile(channel.memory.address() + ChannelArea.SUBMITTED))
                            == 4);

            ReceivedRequest request = new ReceivedRequest(channel.area);
            List<Boolean> fromChannel = Stream.generate(
                            () -> group.receive(request, READY, System.nanoTime() + LONG_NS))
                    .limit(4)
                    .toList();

            assertThat(fromChannel).containsExactly(true, false, true, false);
        }
    }

    @Test
    void aGroupIsClosedOnlyWhileItIsEmptyAndTakesNoChannelThen() {
        try (TestChannel channel = new TestChannel(4)) {
            ChannelGroup group = new ChannelGroup(ended -> {}, new PolledWaits("polls", 0), 0);
            assertThat(group.add(channel.server)).isTrue();
            assertThat(group.closeIfEmpty()).as("empty, with a channel").isFalse();
            group.remove(channel.server);
            assertThat(group.add(channel.server)).as("added again").isTrue();
            group.remove(channel.server);
            assertThat(group.closeIfEmpty()).as("empty").isTrue();
            assertThat(group.add(channel.server)).as("added after the end").isFalse();
        }
    }
}
