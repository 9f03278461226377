package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.DeepStack;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The thread that polls the links of an application. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LinkWatchTest {
    private static final ChannelArea AREA = new ChannelArea(4, 1024);

    private final LinkWatch watch = new LinkWatch();
    private final List<WatchedLink> links = new ArrayList<>();

    @AfterEach
    void close() {
        links.forEach(link -> link.memory.end("the test is over"));
        watch.close();
    }

    /** A link on which nothing waits, and its other end. */
    private static final class WatchedLink extends ChannelLink {
        final LinkSocket other;
        final AtomicInteger arrived = new AtomicInteger();
        /** Runs in the watching thread after each poll. */
        private volatile Runnable polled = () -> {};
        /** Runs in the watching thread at each tick. */
        private volatile Runnable tick = () -> {};

        private WatchedLink(LinkSocket[] sockets, LinkWatch watch) {
            super(new ChannelMemory(AREA.create(), AREA, "shop/order"), sockets[0], watch);
            other = sockets[1];
        }

        /** A message comes from the other end. */
        void come() {
            try (Arena arena = Arena.ofConfined()) {
                long frame = arena.allocate(LinkFrame.HEADER_BYTES, Long.BYTES).address();
                LinkFrame.put(frame, LinkFrame.REPLY, 0, 1, 0, 0);
                assertThat(other.socket().send(frame, LinkFrame.HEADER_BYTES)).isEqualTo(LinkFrame.HEADER_BYTES);
            }
        }

        @Override
        boolean isPolled() {
            return false;
        }

        @Override
        int prepare(int slot, long header) {
            return NOTHING;
        }

        @Override
        Again again() {
            polled.run();
            return Again.NOW;
        }

        @Override
        void ticked() {
            tick.run();
        }

        @Override
        public int check(int kind, int slot, int generation, int first, int second) {
            return 0;
        }

        @Override
        public void arrived(int kind, int slot, int generation, int first, int second) {
            arrived.incrementAndGet();
        }
    }

    private WatchedLink link() {
        WatchedLink link = new WatchedLink(TestChannel.sockets(false), watch);
        link.start();
        link.armInside();
        links.add(link);
        return link;
    }

    private static void fail() {
        throw new IllegalStateException("a defect of one link, which the test expects");
    }

    @Test
    void aLinkThatFailsTakesNothingFromOthersForWhichSomethingCameAtTheSameTime() {
        somethingComesForAFailingLinkAndForAnotherOne();
    }

    /** Else threads would sleep until their deadlines, and nobody would arm the other links again. */
    @Test
    void aLinkThatFailsTakesNothingFromOthersAlsoIfThereIsNoMemoryToComeBackToIt() {
        AtomicBoolean fails = new AtomicBoolean(true);
        Set<ChannelLink> later = new HashSet<>() {
            @Override
            public boolean add(ChannelLink link) {
                if (fails.getAndSet(false)) {
                    throw new OutOfMemoryError("no memory for an entry, which the test expects");
                }
                return super.add(link);
            }
        };
        Inside.set(watch, "later", later);
        somethingComesForAFailingLinkAndForAnotherOne();
        assertThat(fails).isFalse();
    }

    /** Else its thread would sleep, and nobody would wake it for what is left afterwards. */
    @Test
    void itsThreadTicksAgainAfterTheStackOfAThreadThatLeftSomethingHasOverflowed() {
        AtomicInteger ticks = new AtomicInteger();
        link().tick = ticks::getAndIncrement;
        for (int frames = 0; frames < 150; frames++) {
            Waits.until("it does not tick", () -> !Inside.field(watch, "ticking", Boolean.class));
            DeepStack.run(frames, watch::left);
            int before = ticks.get();
            watch.left();
            Waits.until("it ticks", () -> ticks.get() > before);
        }
    }

    private void somethingComesForAFailingLinkAndForAnotherOne() {
        WatchedLink busy = link();
        WatchedLink failing = link();
        WatchedLink good = link();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        busy.polled = () -> {
            begun.countDown();
            Waits.await(go);
        };
        failing.polled = LinkWatchTest::fail;

        busy.come();
        Waits.await(begun);
        failing.come();
        good.come();
        go.countDown();

        Waits.until("the message of the other link has arrived", () -> good.arrived.get() == 1);
        failing.polled = () -> {};
        failing.come();
        Waits.until("the failed link is polled again", () -> failing.arrived.get() == 2);
    }

    @Test
    void aLinkThatFailsInATickTakesNoTickFromOthers() {
        List<AtomicInteger> ticks = List.of(new AtomicInteger(), new AtomicInteger(), new AtomicInteger());
        for (AtomicInteger mine : ticks) {
            link().tick = () -> {
                mine.incrementAndGet();
                fail();
            };
        }
        watch.left();
        Waits.until("each link has had ticks", () -> ticks.stream().allMatch(count -> count.get() > 2));
    }
}
