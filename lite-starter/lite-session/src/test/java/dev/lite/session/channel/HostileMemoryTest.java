package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.os.RawMemory;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Somebody overwrites words of a channel's memory while calls run. */
class HostileMemoryTest {
    private static final int ROUNDS = 60;
    private static final long CALL_NS = 200_000_000;
    private static final int[] FIELDS = {
        (int) ChannelArea.REQUEST_LENGTH,
        (int) ChannelArea.WORD,
        (int) ChannelArea.STATUS,
        (int) ChannelArea.REPLY_LENGTH
    };

    /** What must never come: an error other than those that calls and receives declare. */
    private final AtomicReference<@Nullable Throwable> wrong = new AtomicReference<>();

    @Test
    void randomWordsHurtOnlyTheirChannelAndNobodyHangs() {
        long seed = Long.getLong("lite.test.seed", System.nanoTime());
        System.out.println("HostileMemoryTest: -Dlite.test.seed=" + seed);
        Random random = new Random(seed);
        int ended = 0;
        try (TestChannel other = new TestChannel(4)) {
            Thread.ofPlatform().daemon().start(other::serve);
            for (int round = 0; round < ROUNDS; round++) {
                ended += attack(random) ? 1 : 0;
                assertThat(wrong.get()).as("seed %d, round %d", seed, round).isNull();
                assertThat(other.call(round, TestChannel.LONG_NS)).isEqualTo(-round);
            }
        }
        assertThat(ended).as("channels that noticed").isPositive();
    }

    /** Whether an end noticed it. */
    private boolean attack(Random random) {
        int slots = 1 + random.nextInt(8);
        AtomicInteger calls = new AtomicInteger();
        try (TestChannel channel = new TestChannel(slots, random.nextBoolean() ? 200 : 0)) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(start(i % 2 == 0, () -> call(channel, calls)));
                threads.add(start(i < 2, () -> serve(channel)));
            }
            int words = 1 + random.nextInt(200);
            for (int i = 0; i < words && !channel.server.isEnded(); i++) {
                overwrite(channel, random);
                int seen = calls.get();
                if (random.nextInt(4) == 0) { // let the calls run on
                    Waits.until("a call ends", () -> calls.get() != seen || channel.caller.isEnded());
                }
            }
            boolean noticed = channel.caller.isEnded();
            channel.caller.end("the test is over");
            threads.forEach(Waits::join);
            return noticed;
        }
    }

    private static Thread start(boolean virtual, Runnable task) {
        return virtual
                ? Thread.ofVirtual().start(task)
                : Thread.ofPlatform().daemon().start(task);
    }

    private static void overwrite(TestChannel channel, Random random) {
        int slot = random.nextInt(channel.area.slots());
        long base = channel.memory.address();
        long at = switch (random.nextInt(8)) {
            case 0 -> ChannelArea.DOORBELL;
            case 1 -> ChannelArea.SUBMITTED + 4L * random.nextInt(2);
            case 2 -> 4L * random.nextInt((int) channel.area.bytes() / 4);
            default -> ChannelArea.slotOffset(slot) + FIELDS[random.nextInt(FIELDS.length)];
        };
        int old = RawMemory.getIntVolatile(base + at);
        int value = switch (random.nextInt(4)) {
            case 0 -> random.nextInt();
            case 1 -> old ^ 1 << random.nextInt(32);
            case 2 -> random.nextInt(9) - 2;
            default -> old + random.nextInt(65) - 32;
        };
        RawMemory.putIntVolatile(base + at, value);
    }

    private void call(TestChannel channel, AtomicInteger calls) {
        try {
            while (true) {
                try {
                    byte[] reply = new byte[1024];
                    int unused = channel.caller.call(
                            TestChannel.longs(calls.get()),
                            MemorySegment.ofArray(reply),
                            Waits.scaled(Duration.ofNanos(CALL_NS)).toNanos());
                } catch (LiteException e) {
                    // late, or an error that somebody wrote
                }
                calls.incrementAndGet();
            }
        } catch (ChannelEndedException e) {
            // the end
        } catch (Throwable e) {
            wrong.set(e);
        }
    }

    private void serve(TestChannel channel) {
        ReceivedRequest request = new ReceivedRequest(channel.area);
        try {
            while (true) {
                if (!channel.receive(request, TestChannel.LONG_NS)) {
                    continue;
                }
                try {
                    channel.server.reply(request.call(), request.bytes().asSlice(0, request.length()));
                } catch (LimitExceededException e) {
                    // somebody made the caller's capacity small
                }
            }
        } catch (ChannelEndedException e) {
            // the end
        } catch (Throwable e) {
            wrong.set(e);
        }
    }
}
