package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteTimeoutException;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Deadlines pass while requests are taken and replies come: what each caller learns is what happened. */
class DeadlineRaceTest {
    private static final int CALLERS = 4;
    private static final int ROUNDS = 2_000;
    private static final int TIMEOUT_NS_MAX = 400_000;

    private final AtomicIntegerArray executed = new AtomicIntegerArray(CALLERS * ROUNDS + 1);
    private final AtomicInteger replied = new AtomicInteger();
    private final AtomicInteger notDone = new AtomicInteger();
    private final AtomicInteger maybeDone = new AtomicInteger();
    private final List<Integer> notDoneCalls = new ArrayList<>();

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallIsDoneAtMostOnceAndOneThatWasNotDoneNeverIs(boolean virtual) {
        long seed = Long.getLong("lite.test.seed", System.nanoTime());
        System.out.println("DeadlineRaceTest: -Dlite.test.seed=" + seed);
        try (TestChannel channel = new TestChannel(3, 20)) {
            List<Thread> servers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                long serverSeed = seed + 100 + i;
                servers.add(Thread.ofPlatform().daemon().start(() -> serve(channel, new Random(serverSeed))));
            }
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < CALLERS; i++) {
                int first = i * ROUNDS;
                Runnable calls = () -> call(channel, first, new Random(seed + first));
                callers.add(
                        virtual
                                ? Thread.ofVirtual().start(calls)
                                : Thread.ofPlatform().daemon().start(calls));
            }
            callers.forEach(Waits::join);
            assertThat(channel.call(CALLERS * ROUNDS, TestChannel.LONG_NS))
                    .as("after all deadlines")
                    .isEqualTo(-CALLERS * ROUNDS);
            channel.server.end("the test is over");
            servers.forEach(Waits::join);
        }
        assertThat(notDoneCalls)
                .allSatisfy(call -> assertThat(executed.get(call)).isZero());
        assertThat(replied.get() + notDone.get() + maybeDone.get()).isEqualTo(CALLERS * ROUNDS);
        for (int call = 0; call < CALLERS * ROUNDS; call++) {
            assertThat(executed.get(call)).as("call %d", call).isLessThanOrEqualTo(1);
        }
        System.out.printf("replied %s, not done %s, maybe done %s%n", replied, notDone, maybeDone);
    }

    private void call(TestChannel channel, int first, Random random) {
        for (int call = first; call < first + ROUNDS; call++) {
            try {
                long reply = channel.call(call, random.nextInt(TIMEOUT_NS_MAX));
                assertThat(reply).isEqualTo(-call);
                assertThat(executed.get(call)).isEqualTo(1);
                replied.incrementAndGet();
            } catch (LiteTimeoutException e) {
                if (String.valueOf(e.getMessage()).contains("the call was not done")) {
                    notDone.incrementAndGet();
                    synchronized (notDoneCalls) {
                        notDoneCalls.add(call);
                    }
                } else {
                    maybeDone.incrementAndGet();
                }
            }
        }
    }

    private void serve(TestChannel channel, Random random) {
        ReceivedRequest request = new ReceivedRequest(channel.area);
        try {
            while (channel.receive(request, TestChannel.LONG_NS)) {
                long call = TestChannel.number(request);
                executed.incrementAndGet((int) call);
                for (int i = random.nextInt(20_000); i > 0; i--) {
                    Thread.onSpinWait();
                }
                channel.server.reply(request.call(), TestChannel.longs(-call));
            }
        } catch (ChannelEndedException e) {
            // the end
        }
    }
}
