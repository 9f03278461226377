package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of both gates: {@link Gate} for long stays and {@link PostGate} for posts. */
@ParameterizedClass
@MethodSource("gates")
class GateTest {
    private static final long REFUSED = 0;

    private final AnyGate gate;

    GateTest(Kind kind) {
        gate = kind.make();
    }

    private interface AnyGate {
        boolean open();

        long enter();

        void exit(long stamp);

        void close();
    }

    enum Kind {
        FOR_STAYING {
            @Override
            AnyGate make() {
                Gate gate = new Gate();
                return of(gate::open, gate::enter, gate::exit, gate::close);
            }
        },
        FOR_POSTS {
            @Override
            AnyGate make() {
                PostGate gate = new PostGate();
                return of(gate::open, gate::enter, gate::exit, gate::close);
            }
        };

        abstract AnyGate make();

        private static AnyGate of(BooleanSupplier open, LongSupplier enter, LongConsumer exit, Runnable close) {
            return new AnyGate() {
                @Override
                public boolean open() {
                    return open.getAsBoolean();
                }

                @Override
                public long enter() {
                    return enter.getAsLong();
                }

                @Override
                public void exit(long stamp) {
                    exit.accept(stamp);
                }

                @Override
                public void close() {
                    close.run();
                }
            };
        }
    }

    static Stream<Kind> gates() {
        return Stream.of(Kind.values());
    }

    @Test
    void bothGatesRefuseWithTheSameStamp() {
        assertThat(Gate.REFUSED).isEqualTo(PostGate.REFUSED).isEqualTo(REFUSED);
    }

    @Test
    void noUserEntersBeforeTheGateIsOpenOrAfterItIsClosed() {
        assertThat(gate.enter()).isEqualTo(REFUSED);
        assertThat(gate.open()).isTrue();
        long stamp = gate.enter();
        assertThat(stamp).isNotEqualTo(REFUSED);
        gate.exit(stamp);
        gate.close();
        gate.close();
        assertThat(gate.enter()).isEqualTo(REFUSED);
        assertThat(gate.open()).isFalse();
    }

    @Test
    void closeReturnsWhenAllUsersHaveLeft() throws InterruptedException {
        assertThat(gate.open()).isTrue();
        var inside = new AtomicInteger();
        var entered = new AtomicInteger();
        var wrong = new AtomicBoolean();
        var closed = new AtomicBoolean();
        var users = new Thread[3];
        for (int i = 0; i < users.length; i++) {
            users[i] = Thread.ofPlatform().daemon().start(() -> {
                for (long stamp = gate.enter(); stamp != REFUSED; stamp = gate.enter()) {
                    inside.incrementAndGet();
                    entered.incrementAndGet();
                    if (closed.get()) {
                        wrong.set(true);
                    }
                    inside.decrementAndGet();
                    gate.exit(stamp);
                }
            });
        }
        while (entered.get() < 10_000) {
            Thread.onSpinWait();
        }
        gate.close();
        closed.set(true);
        assertThat(inside.get()).isZero();
        for (var user : users) {
            user.join();
        }
        assertThat(wrong.get()).isFalse();
    }
}
