package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PostGateTest {
    private final PostGate gate = new PostGate();

    @Test
    void nobodyEntersBeforeItIsOpenNorAfterItIsClosed() {
        assertThat(gate.enter()).isEqualTo(PostGate.REFUSED);
        assertThat(gate.open()).isTrue();
        long stamp = gate.enter();
        assertThat(stamp).isNotEqualTo(PostGate.REFUSED);
        gate.exit(stamp);
        gate.close();
        gate.close();
        assertThat(gate.enter()).isEqualTo(PostGate.REFUSED);
        assertThat(gate.open()).isFalse();
    }

    @Test
    void closeReturnsWhenEverybodyIsOut() throws InterruptedException {
        assertThat(gate.open()).isTrue();
        var inside = new AtomicInteger();
        var entered = new AtomicInteger();
        var wrong = new AtomicBoolean();
        var closed = new AtomicBoolean();
        var users = new Thread[3];
        for (int i = 0; i < users.length; i++) {
            users[i] = Thread.ofPlatform().daemon().start(() -> {
                for (long stamp = gate.enter(); stamp != PostGate.REFUSED; stamp = gate.enter()) {
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
