package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.memory.BlankMappings;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.sync.WordStore.Kind;
import dev.lite.tier.sync.WordStore.Named;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.function.ToLongBiFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Opens a word on another node, which the test plays. */
class OpeningTest {
    private static final long DEAD = -1;
    private static final long BORN = LockWord.free(7);
    private static final Opening.Room NO_ROOM_NEEDED = new Opening.Room() {
        @Override
        public void make() {
            throw new AssertionError("there is room");
        }

        @Override
        public boolean isBeingMade() {
            return false;
        }
    };

    private final AtomicInteger asked = new AtomicInteger();
    private boolean connected = true;
    private Supplier<Long> memory = () -> BORN;

    private Opening opening(ToLongBiFunction<Named, Deadline> home) {
        return new Opening(store(), node -> connected, home, NO_ROOM_NEEDED);
    }

    private WordStore store() {
        return (WordStore) Proxy.newProxyInstance(
                WordStore.class.getClassLoader(),
                new Class<?>[] {WordStore.class},
                (proxy, method, arguments) -> method.getName().equals("open") ? word() : null);
    }

    private SyncWord word() {
        LmrRecord lmr = new LmrRecord(
                7,
                LmrRecord.State.LIVE,
                SyncWord.BYTES,
                62,
                0,
                Map.of(),
                List.of(new Share(1, new UUID(1, 2), List.of(new Run(0, 64, 0)))));
        int granted = Permission.ATOMIC.bit();
        return new SyncWord(
                Mapping.open(new BlankMappings(), lmr, "x", granted, Layout.places(lmr, node -> 0), new Owner()));
    }

    private final class Owner extends WordOwner {
        @Override
        public RemoteMemory remoteMemory() {
            return (RemoteMemory) Proxy.newProxyInstance(
                    RemoteMemory.class.getClassLoader(),
                    new Class<?>[] {RemoteMemory.class},
                    (proxy, method, arguments) -> memory.get());
        }

        @Override
        public void refresh(@Nullable String name, long lmrId, Deadline deadline) {
            // nothing to do
        }
    }

    /** Else a session would wait for its whole deadline to open a lock that nobody can use. */
    @Test
    void aWordOnALostNodeIsNotWaitedForLongerThanOtherMemoryOfIt() {
        connected = false;
        memory = () -> {
            throw new LmrUnavailableException("node n1 is lost");
        };
        Opening opening = opening((word, deadline) -> {
            Waits.pass(deadline.remaining()); // as for any node that is not connected
            throw new NodeUnreachableException("node n1 is not connected");
        });
        assertThatExceptionOfType(LmrUnavailableException.class)
                .isThrownBy(() -> opening.open(Kind.LOCK, "x", Deadline.in(Waits.seconds(3))))
                .withMessageContaining("n1 is lost");
    }

    @Test
    void aHomeThatReturnsIsAskedAgain() {
        connected = false;
        memory = () -> {
            connected = true;
            return BORN;
        };
        assertThat(opening((word, deadline) -> BORN)
                        .open(Kind.LOCK, "x", Deadline.in(Waits.seconds(20)))
                        .ref()
                        .home())
                .isEqualTo(1);
    }

    @Test
    void anOpeningThatEndsAtItsDeadlineBlamesWhatKeptItLast() {
        Opening opening = opening((word, deadline) -> {
            if (asked.incrementAndGet() == 1) {
                throw new NodeUnreachableException("the connection broke");
            }
            return DEAD;
        });
        assertThatExceptionOfType(LiteTimeoutException.class)
                .isThrownBy(() -> opening.open(Kind.LOCK, "x", Deadline.in(Waits.seconds(0.5))))
                .withMessageContaining("removes the former word");
        assertThat(asked.get()).isGreaterThan(1);
    }
}
