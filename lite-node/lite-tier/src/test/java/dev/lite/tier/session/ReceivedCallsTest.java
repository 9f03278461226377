package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.testing.Inside;
import dev.lite.tier.FairShares;
import java.lang.reflect.Proxy;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Servers that receive calls and never answer. */
class ReceivedCallsTest {
    private static final int PLACES = 8;

    private final FairShares places = new FairShares(PLACES);
    private final AtomicInteger failed = new AtomicInteger();
    /** How many attempts to fail a call fail themselves. */
    private final AtomicInteger notYet = new AtomicInteger();

    private ReceivedCalls session(String principal) {
        return new ReceivedCalls("test", new AtomicLong(), places.share(principal), Runnable::run);
    }

    private RpcCall call() {
        return (RpcCall) Proxy.newProxyInstance(
                RpcCall.class.getClassLoader(), new Class<?>[] {RpcCall.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("fail")) {
                        if (notYet.getAndDecrement() > 0) {
                            throw new LiteTimeoutException("its caller's node does not read");
                        }
                        failed.incrementAndGet();
                    }
                    return null;
                });
    }

    /** How many calls it keeps until one is refused. */
    private int hoard(ReceivedCalls session) {
        for (int kept = 0; ; kept++) {
            try {
                session.add(call());
            } catch (LimitExceededException full) {
                return kept;
            }
            assertThat(kept).isLessThan(ReceivedCalls.CALLS_MAX);
        }
    }

    @Test
    void thePartsOfReceivedCallsAreDividedAmongPrincipalsAndReturnedAtTheEnd() {
        ReceivedCalls greedy = session("greedy");
        assertThat(hoard(greedy)).isEqualTo((1 + PLACES / 2) * ReceivedCalls.PART);
        assertThat(failed).as("the refused call").hasValue(1);
        ReceivedCalls again = session("greedy");
        assertThat(hoard(again)).as("another session of the same principal").isEqualTo(ReceivedCalls.PART);
        ReceivedCalls good = session("good");
        assertThat(hoard(good)).isGreaterThan(2 * ReceivedCalls.PART);
        greedy.end();
        again.end();
        good.end();
        greedy.end();
        assertThat(places.taken()).isZero();
        assertThatThrownBy(() -> hoardAfter(greedy)).isInstanceOf(LimitExceededException.class);
    }

    /** A session that has ended keeps no more than one that took no places. */
    private void hoardAfter(ReceivedCalls ended) {
        for (int kept = 0; kept <= ReceivedCalls.PART; kept++) {
            ended.add(call());
        }
    }

    @Test
    void aCallWhoseCallerCannotBeToldFailsAsSoonAsItCanAlsoAfterTheEndOfTheSession() {
        ReceivedCalls session = session("app");
        long first = session.add(call());
        notYet.set(2);
        session.failUnsent(first, "its reply could not be sent");
        assertThat(failed).as("during the session").hasValue(1);

        session.add(call());
        notYet.set(2);
        session.end();
        assertThat(failed).as("at its end").hasValue(2);
    }

    @Test
    void aCallForWhichThereIsNoMemoryFailsAtOnce() {
        ReceivedCalls session = session("app");
        Inside.set(session, "calls", new ConcurrentHashMap<Long, RpcCall>() {
            private static final long serialVersionUID = 1L;

            @Override
            public RpcCall put(Long number, RpcCall call) {
                throw new OutOfMemoryError("on purpose");
            }
        });
        assertThatThrownBy(() -> session.add(call())).isInstanceOf(OutOfMemoryError.class);
        assertThat(failed).hasValue(1);
    }
}
