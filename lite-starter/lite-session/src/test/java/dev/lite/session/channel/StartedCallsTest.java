package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.session.async.PollingHelp;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link StartedCallsCases} through a channel between hosts. */
class StartedCallsTest extends StartedCallsCases {
    /** The number of a request whose reply the server holds back. */
    private static final long HELD = 7;

    StartedCallsTest() {
        super(TestChannel.linked(4, TestChannel.SPINS, new LinkWatch(), true));
    }

    @AfterEach
    void closeWatch() {
        Objects.requireNonNull(channel.caller.link).watch.close();
    }

    @Override
    StartedCalls started() {
        return Inside.field(Objects.requireNonNull(channel.caller.link), "started", StartedCalls.class);
    }

    /** Starts a call after a thread has polled; returns whether the link is armed for its reply. */
    private boolean isArmedForTheNextCall(CallerLink link, Semaphore replies) {
        assertThat(number(start(1, TestChannel.LONG_NS).join())).isEqualTo(-1);
        CompletableFuture<byte[]> next = start(HELD, TestChannel.LONG_NS);
        boolean armed = link.again() == ChannelLink.Again.NOW;
        replies.release();
        assertThat(number(next.join())).isEqualTo(-HELD);
        return armed;
    }

    /** Else nobody would poll any more. */
    @Test
    void aThreadWhoseWaitFailsDoesNotKeepThePollRole() {
        for (int asked = 0; asked < 4; asked++) {
            AtomicInteger left = new AtomicInteger(asked);
            PollingHelp.Wait wait = channel.caller.starter.newWait(() -> {
                if (left.decrementAndGet() < 0) { // as on a stack that is nearly full
                    throw new StackOverflowError("on purpose");
                }
                return false;
            });
            assertThatThrownBy(() -> wait.await(System.nanoTime() + TestChannel.LONG_NS))
                    .isInstanceOf(StackOverflowError.class);
            assertThat(Objects.requireNonNull(channel.caller.link).role.isLed()).isFalse();
        }
    }

    private Thread serveAndHold(Semaphore replies) {
        return LinkCases.serve(channel, request -> {
            if (TestChannel.number(request) == HELD) {
                replies.acquireUninterruptibly();
            }
            LinkCases.reply(channel, request);
        });
    }

    @Test
    void theLinkIsNotArmedWhileTheThreadThatPolledIsExpectedBack() {
        CallerLink link = Objects.requireNonNull(channel.caller.link);
        Semaphore replies = new Semaphore(0);
        Thread server = serveAndHold(replies);
        Waits.until("a call is quicker than a tick", () -> !isArmedForTheNextCall(link, replies));
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    @Test
    void theLinkIsArmedAtOnceWhileFuturesHaveStages() {
        CallerLink link = Objects.requireNonNull(channel.caller.link);
        Semaphore replies = new Semaphore(0);
        Thread server = serveAndHold(replies);
        AtomicInteger quick = new AtomicInteger();
        AtomicInteger unarmed = new AtomicInteger();
        Waits.until("fifty times the next call comes soon enough", () -> {
            long beginNs = System.nanoTime();
            CompletableFuture<Long> stage = start(1, TestChannel.LONG_NS).thenApply(StartedCallsCases::number);
            Waits.until("the call has ended", stage::isDone);
            boolean armed = isArmedForTheNextCall(link, replies);
            if (System.nanoTime() - beginNs >= ExpectedPolls.STAGES_NS) {
                return false; // the stages may have been too long ago
            }
            unarmed.addAndGet(armed ? 0 : 1);
            return quick.incrementAndGet() == 50;
        });
        assertThat(unarmed).as("times of fifty").hasValueLessThan(3);
        channel.caller.end("the test is over");
        Waits.join(server);
    }
}
