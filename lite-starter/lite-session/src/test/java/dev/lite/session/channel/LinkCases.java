package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** Channels between hosts for tests: both ends over the loopback device. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class LinkCases {
    static final long SHORT_NS = 20_000_000;

    final LinkWatch watch = new LinkWatch();
    final List<TestChannel> channels = new ArrayList<>();

    @AfterEach
    void close() {
        channels.forEach(TestChannel::close);
        watch.close();
    }

    TestChannel channel(ChannelArea area, int spins, boolean encrypted) {
        TestChannel channel = TestChannel.linked(area, spins, watch, encrypted);
        channels.add(channel);
        return channel;
    }

    TestChannel channel(int slots, int spins) {
        return channel(new ChannelArea(slots, 1024), spins, false);
    }

    /** Calls in another thread; what it threw or null. */
    static Thread callIn(
            boolean virtual,
            TestChannel channel,
            long number,
            long timeoutNs,
            AtomicReference<@Nullable Throwable> thrown) {
        return TestChannel.start(
                virtual,
                () -> thrown.set(catchThrowable(
                        () -> assertThat(channel.call(number, timeoutNs)).isEqualTo(-number))));
    }

    /** A thread that does this for each request until the channel ends. */
    static Thread serve(TestChannel channel, Consumer<ReceivedRequest> each) {
        return TestChannel.start(false, () -> {
            ReceivedRequest request = new ReceivedRequest(channel.area);
            try {
                while (true) {
                    if (channel.receive(request, TestChannel.LONG_NS)) {
                        each.accept(request);
                    }
                }
            } catch (ChannelEndedException e) {
                // the end
            }
        });
    }

    static void reply(TestChannel channel, ReceivedRequest request) {
        channel.server.reply(request.call(), TestChannel.longs(-TestChannel.number(request)));
    }
}
