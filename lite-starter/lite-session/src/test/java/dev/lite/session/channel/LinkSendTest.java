package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.wire.EncryptedWire;
import dev.lite.os.wire.Wire;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.testing.Waits;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that sends for others, which go on noting frames. Else it would send as long as they do, whatever its deadline. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LinkSendTest {
    private static final ChannelArea AREA = new ChannelArea(4, 1024);
    private static final int RANGE_BYTES = 16;
    /** A caller polls for a while only, and then sleeps. */
    private static final long POLL_NS = 50_000;

    /** How many frames others note: one during each write. */
    private static final int OTHERS = 100 * ChannelLink.WRITES_MAX;

    private final LinkWatch watch = new LinkWatch();
    private final PolledWaits waits = new PolledWaits("calls", 0);
    private final ChannelMemory memory = new ChannelMemory(AREA.create(), AREA, "shop/order");
    private final LinkSocket[] sockets = TestChannel.sockets(false);
    private final BusyWire wire = new BusyWire(sockets[0].wire());
    private final LinkSocket socket = new LinkSocket(sockets[0].socket(), wire);

    @AfterEach
    void close() {
        memory.end("the test is over");
        memory.close();
        sockets[1].socket().close();
        waits.close();
        watch.close();
    }

    /** Takes everything that is sent. Another thread notes one more frame during each write. */
    private static final class BusyWire extends EncryptedWire {
        private final AtomicInteger others = new AtomicInteger(OTHERS);
        final AtomicInteger writes = new AtomicInteger();
        /** Writes of the thread that sends first. */
        final AtomicInteger own = new AtomicInteger();

        private volatile @Nullable Thread first;
        private volatile Runnable onWrite = () -> {};
        private volatile @Nullable ChannelLink link;
        private volatile int writesBeforeShutdown;

        BusyWire(Wire plain) {
            super(plain);
        }

        @Override
        public long send(long address, long length) {
            throw new AssertionError("a link sends vectors");
        }

        @Override
        public long sendVector(long iovec, int count) {
            writes.incrementAndGet();
            if (Thread.currentThread() == first) {
                own.incrementAndGet();
            }
            onWrite.run();
            ChannelLink its = link;
            if (its != null && others.getAndDecrement() > 0) {
                its.cancel(0, 1);
            }
            long bytes = 0;
            for (int i = 0; i < count; i++) {
                bytes += RawMemory.getLong(iovec + (long) i * RANGE_BYTES + Long.BYTES);
            }
            return bytes;
        }

        @Override
        public long receive(long address, long length) {
            return plain.receive(address, length);
        }

        @Override
        public boolean awaitReadable(long timeoutNs) {
            return plain.awaitReadable(timeoutNs);
        }

        @Override
        public void shutdown() {
            writesBeforeShutdown = writes.get();
            super.shutdown();
        }
    }

    /** A link of which the test says whether a thread polls it. */
    private static final class TestLink extends ChannelLink {
        private final BooleanSupplier polled;

        TestLink(ChannelMemory memory, LinkSocket socket, LinkWatch watch, BooleanSupplier polled) {
            super(memory, socket, watch);
            this.polled = polled;
        }

        @Override
        boolean isPolled() {
            return polled.getAsBoolean();
        }

        @Override
        int prepare(int slot, long header) {
            return NOTHING;
        }

        @Override
        Again again() {
            return Again.NEVER;
        }

        @Override
        public int check(int kind, int slot, int generation, int first, int second) {
            return 0;
        }

        @Override
        public void arrived(int kind, int slot, int generation, int first, int second) {}
    }

    private void send(ChannelLink link) {
        link.start();
        wire.link = link;
        wire.first = Thread.currentThread();
        assertThat(memory.enter()).isTrue();
        try {
            link.cancel(0, 1);
        } finally {
            memory.exit();
        }
    }

    private void send(BooleanSupplier polled) {
        send(new TestLink(memory, socket, watch, polled));
    }

    private CallerLink callerLink(int spins) {
        return new CallerLink(memory, socket, watch, waits, spins, slot -> {});
    }

    private void assertTheRestIsSent() {
        Waits.until("the rest is sent", () -> wire.writes.get() == 1 + OTHERS);
    }

    @Test
    void aThreadThatSendsForOthersLeavesTheRestToTheOneThatPolls() {
        send(() -> true);

        assertThat(wire.own).as("writes of the thread that sends").hasValue(ChannelLink.WRITES_MAX);
        assertTheRestIsSent(); // nobody polls in truth: the watching thread does
    }

    @Test
    void aThreadThatSendsForOthersSendsAllIfNonePolls() {
        send(() -> false);

        assertThat(wire.own).as("writes of the thread that sends").hasValue(1 + OTHERS);
    }

    /** That one has looked for something to send before, and found this thread sending. */
    @Test
    void aThreadThatSendsForOthersSendsAllIfTheOneThatPolledStopsJustThen() {
        AtomicInteger asked = new AtomicInteger();
        send(() -> asked.incrementAndGet() % 2 != 0);

        assertThat(wire.own).as("writes of the thread that sends").hasValue(1 + OTHERS);
        assertThat(asked).hasValueGreaterThan(2);
    }

    @Test
    void atTheEndOfTheChannelAThreadThatSendsForOthersSendsAll() {
        wire.onWrite = () -> memory.end("the test ends it");
        send(() -> true);

        assertThat(wire.own).as("writes of the thread that sends").hasValue(1 + OTHERS);
        assertThat(wire.writesBeforeShutdown).isEqualTo(1 + OTHERS);
    }

    @Test
    void aCallerLeavesTheRestToTheCallerThatPolls() {
        CallerLink link = callerLink(1 << 22); // it sleeps little
        RawMemory.putIntRelease(memory.word(0), SlotWord.of(1, SlotWord.TAKEN));
        Thread poller = Thread.ofPlatform().daemon().unstarted(() -> {
            if (memory.enter()) {
                try {
                    link.role.await(0, 1, System.nanoTime() + TestChannel.LONG_NS);
                } finally {
                    memory.exit();
                }
            }
        });
        wire.onWrite = () -> {
            if (Thread.currentThread() == wire.first) {
                if (wire.own.get() == 1) {
                    poller.start();
                }
                if (wire.own.get() >= ChannelLink.WRITES_MAX) {
                    assertThat(Polling.until(link.role::isPolled, Deadline.in(Waits.seconds(20)), POLL_NS))
                            .as("the other one polls")
                            .isTrue();
                }
            }
        };
        send(link);

        assertThat(wire.own).as("writes of the caller").hasValueLessThan(OTHERS);
        assertTheRestIsSent();
        memory.end("the test is over");
        Waits.join(poller);
    }

    @Test
    void aCallerLeavesTheRestToTheThreadThatPollsForVirtualOnes() {
        CallerLink link = callerLink(0);
        wire.onWrite = link::pollVirtually;
        send(link);

        assertThat(wire.own).as("writes of the caller").hasValue(ChannelLink.WRITES_MAX);
        assertTheRestIsSent();
    }

    @Test
    void aThreadThatAnswersLeavesTheRestToTheOneThatTakesTheNextRequest() {
        RequestBell bell = new RequestBell(memory.submitted(), memory.doorbell());
        ServerLink link = new ServerLink(memory, bell, socket, watch);
        assertThat(bell.submit(1)).isFalse();
        send(link);

        assertThat(wire.own).as("writes of the thread that answers").hasValue(ChannelLink.WRITES_MAX);
        assertTheRestIsSent();
    }
}
