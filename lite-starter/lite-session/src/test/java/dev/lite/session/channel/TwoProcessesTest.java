package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The caller's end here, the server's end in another process. */
class TwoProcessesTest {
    private static long echo(ChannelProcess channel, long number) {
        byte[] reply = new byte[Long.BYTES];
        int unused = channel.caller.call(TestChannel.longs(number), MemorySegment.ofArray(reply), TestChannel.LONG_NS);
        return MemorySegment.ofArray(reply).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    @ParameterizedTest
    @CsvSource({"200,1,false", "200,8,false", "200,16,true", "0,8,false", "0,8,true"})
    void callsToAnotherProcessGetTheirReplies(int spins, int callers, boolean virtual) throws InterruptedException {
        try (ChannelProcess channel = new ChannelProcess(2, spins)) {
            AtomicInteger right = new AtomicInteger();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < callers; i++) {
                long base = i * 1_000_000L;
                Runnable task = () -> {
                    for (int round = 0; round < 1_000; round++) {
                        if (echo(channel, base + round) == base + round) {
                            right.incrementAndGet();
                        }
                    }
                };
                threads.add(
                        virtual
                                ? Thread.ofVirtual().start(task)
                                : Thread.ofPlatform().start(task));
            }
            threads.forEach(Waits::join);
            assertThat(right).hasValue(callers * 1_000);
            channel.caller.close();
            assertThat(channel.line()).isEqualTo("ended");
            assertThat(channel.awaitEnd()).isZero();
        }
    }

    @Test
    void afterTheDeathOfTheServerItsNodeEndsTheChannelAndCallsFail() throws InterruptedException {
        try (ChannelProcess channel = new ChannelProcess(1, 50)) {
            assertThat(echo(channel, 1)).isEqualTo(1);
            channel.process.destroyForcibly();
            int unused = channel.awaitEnd();
            List<Throwable> thrown = new ArrayList<>();
            Thread call = Thread.ofPlatform().start(() -> thrown.add(catchThrowable(() -> echo(channel, 2))));
            Waits.until("the call waits", () -> call.getState() == Thread.State.RUNNABLE);
            channel.caller.end("the server's process has ended");
            Waits.join(call);
            assertThat(thrown)
                    .singleElement()
                    .isInstanceOfSatisfying(
                            ChannelEndedException.class,
                            e -> assertThat(e.isMaybeDone()).isFalse());
            assertThatThrownBy(() -> echo(channel, 3))
                    .isInstanceOf(ChannelEndedException.class)
                    .hasMessage("echo at node-1: the server's process has ended; the call was not done");
        }
    }
}
