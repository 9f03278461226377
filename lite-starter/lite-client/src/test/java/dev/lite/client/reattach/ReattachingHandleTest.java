package dev.lite.client.reattach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeLite;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Handles and copies of memory. */
class ReattachingHandleTest extends ReattachingCases {
    @Test
    void aHandleThatIsUnmappedWhileAnotherThreadMapsItAgainStaysUnmapped() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        sessions.getLast().lose();
        whenMapping = handle::unmap;
        assertThatThrownBy(() -> handle.getLong(0)).isInstanceOf(LmrFreedException.class);
        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().known("a").unmaps).hasValue(1);
    }

    @Test
    void aWriteDuringTheLossIsRepeatedButAFetchAddIsNot() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        sessions.getLast().known("a").losesSessionInNextCall = true;

        handle.write(0, BYTES);

        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(SessionLostException.class);
        assertThat(sessions).as("the call was not repeated").hasSize(2);
        assertThat(handle.fetchAdd(0, 1)).isEqualTo(5);
        assertThat(sessions).hasSize(3);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
    }

    @Test
    void aWriteIsRepeatedThoughTheNextSessionEndsWhileItMapsAgain() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE);
        for (boolean writes : List.of(false, true)) {
            int before = sessions.size();
            whenMapping = () -> {
                whenMapping = () -> {};
                sessions.getLast().lose();
            };
            sessions.getLast().known("a").losesSessionInNextCall = true;
            if (writes) {
                handle.write(0, BYTES);
            } else {
                handle.read(0, BYTES);
            }
            assertThat(sessions).hasSize(before + 2);
            assertThat(sessions.getLast().known("a").calls).hasValue(1);
        }
    }

    @Test
    void wordsAreReadAndWrittenAgainAfterALossAsDataIs() {
        ReattachingLite moving = open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(LONG)
                .withAlternatives(List.of(Path.of("/tmp/y.sock"))));
        LmrHandle handle = moving.memory().map("a", Permission.READ, Permission.WRITE);
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.putLong(0, 1);
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.putInt(0, 1);
        assertThat(sessions.getLast().known("a").calls)
                .as("repeated at the same node")
                .hasValue(1);

        nodeName = "fake-2";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThat(handle.getLong(0)).isEqualTo(5);
        nodeName = "fake-3";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThat(handle.getInt(0)).isEqualTo(5);
        nodeName = "fake-4";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.putLong(0, 1)).isInstanceOf(SessionLostException.class);
        sessions.getLast().lose();
        handle.putLong(0, 1); // it began after the loss
        nodeName = "fake-5";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.putInt(0, 1)).isInstanceOf(SessionLostException.class);
        sessions.getLast().lose();
        handle.putInt(0, 1);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        moving.close();
    }

    @Test
    void aWriteDuringTheLossIsNotRepeatedAtAnotherNodeButAReadIs() {
        ReattachingLite moving = open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(LONG)
                .withAlternatives(List.of(Path.of("/tmp/y.sock"))));
        LmrHandle handle = moving.memory().map("a", Permission.READ, Permission.WRITE);
        nodeName = "fake-2";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.read(0, BYTES);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);

        nodeName = "fake-3";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.write(0, BYTES)).isInstanceOf(SessionLostException.class);
        assertThat(sessions.getLast().known("a").calls).as("not repeated").hasValue(0);
        handle.write(0, BYTES);
        assertThat(moving.nodeName()).isEqualTo("fake-3");

        nodeName = "fake-4";
        sessions.getLast().lose();
        handle.write(0, BYTES); // it began after the loss
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.memset(0, 8, (byte) 0); // repeated, because the next session is at the same node
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        moving.close();
    }

    @Test
    void aCopyWhoseSessionIsLostBeforeItBeginsIsMadeInTheNextSession() {
        LmrHandle source = lite.memory().map("a", Permission.READ);
        LmrHandle destination = lite.memory().map("a", Permission.WRITE);
        LmrHandle lossy = new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() { // after the source was looked at
                if (sessions.size() == 1) {
                    sessions.getLast().lose();
                }
                return destination;
            }
        };

        lite.memory().memcpy(source, 0, lossy, 0, 8);

        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().copies).containsExactly("a to a");
    }

    @Test
    void aCopyWithAHandleOfAnotherApplicationIsRefusedAtOnce() {
        LmrHandle foreign = lite.memory().map("a", Permission.READ);
        ReattachingLite own = open(LONG);
        LmrHandle source = own.memory().map("a", Permission.READ);
        assertThatThrownBy(() -> own.memory().memcpy(source, 0, foreign, 0, 8))
                .isInstanceOf(IllegalArgumentException.class);
        own.close();
    }

    @Test
    void aHandleNeverContinuesInAnotherLmrWithItsName() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        idOfA = 8;
        sessions.getLast().lose();

        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOf(LmrFreedException.class)
                .hasMessageContaining("\"a\"")
                .hasMessageContaining("LMR 8");
    }

    @Test
    void anUnmappedHandleIsNotMappedAgain() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        handle.unmap();
        sessions.getLast().lose();

        assertThatThrownBy(() -> handle.read(0, BYTES)).isInstanceOf(LmrFreedException.class);
        assertThat(lite.nodes()).hasSize(2);
        assertThatThrownBy(() -> handle.read(0, BYTES)).isInstanceOf(LmrFreedException.class);
    }

    /** A mapping of its own would not end with the handle. */
    @Test
    void aViewOfLowPriorityWhoseNextSessionEndsAtOnceMapsNothingItself() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        LmrHandle low = handle.withPriority(Priority.LOW);
        whenMapping = () -> {
            if (sessions.size() == 2) {
                FakeLite second = sessions.getLast();
                second.known("a").whenPrioritized = second::lose;
            }
        };
        sessions.getLast().lose();
        assertThat(low.getLong(0)).isEqualTo(5);
        assertThat(handle.getLong(0)).isEqualTo(5);
        assertThat(sessions).hasSize(3);
        assertThat(sessions.getLast().deadlines).as("mappings").hasSize(1);
    }

    @Test
    void anInterruptedThreadUsesTheRestartedNodeAndKeepsItsInterrupt() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        sessions.getLast().lose();
        Thread.currentThread().interrupt();
        try {
            handle.read(0, BYTES);
        } finally {
            assertThat(Thread.interrupted()).as("interrupted").isTrue();
        }
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
    }

    @Test
    void aThreadThatIsInterruptedWhileAnotherOneAttachesIsToldSo() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        CountDownLatch mayMap = new CountDownLatch(1);
        CountDownLatch maps = new CountDownLatch(1);
        whenMapping = () -> {
            maps.countDown();
            Waits.await(mayMap);
        };
        sessions.getLast().lose();
        Thread mapping = Thread.ofVirtual().start(() -> handle.read(0, BYTES));
        Waits.await(maps);
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(() -> handle.read(0, BYTES))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageStartingWith("mapping LMR \"a\" again by another thread was under way, and this thread"
                            + " was interrupted while it waited for that, for at most ");
        } finally {
            assertThat(Thread.interrupted()).as("interrupted").isTrue();
            mayMap.countDown();
        }
        Waits.join(mapping);
    }
}
