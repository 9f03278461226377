package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.testing.Waits;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.TestPeers;
import dev.lite.tier.testing.Effort;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** How slots are distributed. */
class RpcSlotsTest {
    private static final int[] BYTES = {1, 2_000, LtRpc.MESSAGE_BYTES_MAX};
    private static final int[] FOR_CALLS = {
        RpcSlots.SMALL_MAX / 4 * 3, RpcSlots.MIDDLE_MAX / 4 * 3, RpcSlots.LARGE_MAX / 4 * 3
    };

    private final RpcSlots slots = new RpcSlots(0, bytes -> 0); // nothing is written to them

    private static List<RpcSlot> takeAll(RpcSlotShare share, int bytes) {
        List<RpcSlot> taken = new ArrayList<>();
        for (RpcSlot slot = share.tryTake(bytes); slot != null; slot = share.tryTake(bytes)) {
            taken.add(slot);
        }
        assertThat(taken).doesNotHaveDuplicates();
        return taken;
    }

    @Test
    void eachFunctionAndPrincipalLeavesSlotsToTheNext() {
        for (int sizeClass = 0; sizeClass < RpcSlots.SIZES; sizeClass++) {
            int bytes = BYTES[sizeClass];
            int total = FOR_CALLS[sizeClass];
            int first = takeAll(slots.calls("a", "f"), bytes).size();
            assertThat(first).isBetween(total / 3 - 1, total / 3 + 1);
            int second = takeAll(slots.calls("a", "g"), bytes).size();
            assertThat(second).as("another function").isBetween(total / 9 - 1, total / 9 + 1);
            for (int i = 0; i < 20; i++) {
                first += takeAll(slots.calls("a", "f" + i), bytes).size();
            }
            assertThat(first + second).as("all of a principal").isLessThanOrEqualTo(total / 2);
            assertThat(takeAll(slots.calls("b", "f"), bytes).size())
                    .as("another principal")
                    .isGreaterThanOrEqualTo(total / 6 - 1);
            assertThat(takeAll(slots.calls("c", "f"), bytes)).as("a third one").isNotEmpty();
            assertThat(takeAll(slots.replies("n1", "f"), bytes)).as("replies").hasSizeGreaterThan(total / 10);
        }
    }

    @Test
    void slotsThatAShareReturnedAreThereForAll() {
        RpcSlotShare busy = slots.calls("a", "f");
        int most = takeAll(slots.calls("a", "probe"), 1).size();
        List<RpcSlot> taken = takeAll(busy, 1);
        taken.forEach(RpcSlot::giveBack);
        RpcSlotShare other = slots.calls("a", "g");
        List<RpcSlot> others = new ArrayList<>();
        long deadlineNs = System.nanoTime() + 10_000_000_000L;
        for (int i = 0; i < taken.size() && i < most; i++) {
            others.add(other.take(1, deadlineNs));
        }
        assertThat(others).doesNotHaveDuplicates();
        others.forEach(RpcSlot::giveBack);
    }

    /** Else it gets none while each thread that returns a slot calls again at once. */
    @Test
    void aSlotThatIsReturnedIsForTheThreadThatHasWaitedLong() {
        RpcSlotShare share = slots.calls("a", "f");
        List<RpcSlot> taken = takeAll(share, 1);
        AtomicReference<RpcSlot> got = new AtomicReference<>();
        Thread waiting = Thread.ofPlatform()
                .daemon()
                .start(() -> got.set(
                        share.take(1, System.nanoTime() + Waits.seconds(20).toNanos())));
        Waits.until("it has waited long", () -> share.isWanted(0));

        RpcSlot returned = taken.removeFirst();
        returned.giveBack();
        assertThat(share.tryTake(1)).as("for another thread").isNull();

        Waits.join(waiting);
        assertThat(got.get()).isSameAs(returned);
        assertThat(share.isWanted(0)).isFalse();
        RpcSlot next = taken.removeFirst();
        next.giveBack();
        assertThat(share.tryTake(1)).as("now for any thread").isSameAs(next);
    }

    @Test
    void aSlotForAThreadThatDoesNotWaitAnyMoreIsForOthers() {
        RpcSlotShare share = slots.calls("a", "f");
        RpcSlot slot = takeAll(share, 1).getFirst();
        share.want(0);
        slot.giveBack();
        assertThat(share.tryTake(1)).isNull();
        share.endWant(0);
        assertThat(share.tryTake(1)).isSameAs(slot);
    }

    /** The thread that handles the end may lose its processor between its look at a slot and its change. */
    @Test
    void theEndOfAConnectionDoesNotEndACallOverAnotherOneThatHasTheSlotMeanwhile() {
        Peer ended = TestPeers.connect(1, new MemoryEndpoint(0, 0));
        Peer alive = TestPeers.connect(2, new MemoryEndpoint(0, 0));
        RpcSlotShare share = slots.calls("a", "f");
        RpcSlot slot = share.take(1, System.nanoTime()); // the one that a share returned last is the next one
        slot.giveBack();
        AtomicBoolean over = new AtomicBoolean();
        Thread ending = Thread.ofPlatform().daemon().start(() -> {
            while (!over.get()) {
                boolean unused = slot.changeOf(ended, RpcSlot.WAITING, RpcSlot.LOST);
            }
        });
        int lost = 0;
        for (int i = 0; i < Effort.times(5_000_000); i++) {
            callOver(ended, share);
            lost += callOver(alive, share) ? 0 : 1;
        }
        over.set(true);
        Waits.join(ending);
        assertThat(lost).isZero();
    }

    /** A call that is answered at once; false if its connection was lost. */
    private static boolean callOver(Peer peer, RpcSlotShare share) {
        RpcSlot slot = share.take(1, System.nanoTime() + 10_000_000_000L);
        slot.peer = peer;
        slot.state(RpcSlot.WAITING);
        boolean answered = slot.change(RpcSlot.WAITING, RpcSlot.REPLIED);
        slot.giveBack();
        return answered;
    }

    /** The sweep may lose its processor between its look at a slot and its look at the call. */
    @Test
    void aSweepDoesNotTakeACallForTheAbandonedOneThatHadTheSlotBefore() {
        RpcSlotShare share = slots.calls("a", "f");
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger wrong = new AtomicInteger();
        Thread sweep = Thread.ofPlatform().daemon().start(() -> {
            while (!over.get()) {
                for (RpcCancels.Abandoned call : slots.abandoned(null)) {
                    if (!isAbandoned(call.callId()) || call.ring() != call.callId() || call.place() != call.callId()) {
                        wrong.incrementAndGet();
                    }
                }
            }
        });
        for (int i = 0; i < Effort.times(5_000_000); i++) {
            callOver(share);
        }
        over.set(true);
        Waits.join(sweep);
        assertThat(wrong).hasValue(0);
    }

    /** The server's answer may say that a call is over when its slot has the next one. */
    @Test
    void theEndOfACancelledCallDoesNotEndTheNextOneThatIsAbandoned() {
        RpcSlotShare share = slots.calls("a", "f");
        RpcSlot slot = share.take(LtRpc.MESSAGE_BYTES_MAX, System.nanoTime());
        slot.giveBack();
        AtomicBoolean over = new AtomicBoolean();
        Thread ending = Thread.ofPlatform().daemon().start(() -> {
            while (!over.get()) {
                long id = slot.callId;
                boolean unused = !isAbandoned(id) && slot.changeOf(id, RpcSlot.ABANDONED, RpcSlot.OWNED);
            }
        });
        int lost = 0;
        for (int i = 0; i < Effort.times(5_000_000); i++) {
            lost += callOver(share) ? 0 : 1;
        }
        over.set(true);
        Waits.join(ending);
        assertThat(lost).isZero();
    }

    /** Of the calls over {@link #callOver(RpcSlotShare)}. */
    private static boolean isAbandoned(long callId) {
        return (callId & 1) == 0;
    }

    /** Every second call is abandoned and answered late, the others are answered in time; false if another thread ended it. */
    private static boolean callOver(RpcSlotShare share) {
        RpcSlot slot = share.take(LtRpc.MESSAGE_BYTES_MAX, System.nanoTime() + 10_000_000_000L); // the only one
        slot.callId++;
        slot.ring = (int) slot.callId;
        slot.place = (int) slot.callId;
        int state = isAbandoned(slot.callId) ? RpcSlot.ABANDONED : RpcSlot.WAITING;
        slot.state(state);
        Thread.onSpinWait(); // so that the other thread often sees this state
        boolean answered = slot.change(state, RpcSlot.OWNED);
        slot.giveBack();
        return answered;
    }

    @Test
    void aUsedUpShareSaysWhoHasTheSlots() {
        RpcSlotShare share = slots.calls("shop", "function \"hung\" at node n1");
        List<RpcSlot> taken = takeAll(share, 1);
        taken.subList(0, 100).forEach(slot -> slot.state(RpcSlot.ABANDONED));
        assertThatThrownBy(() -> share.take(1, System.nanoTime()))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("function \"hung\" at node n1")
                .hasMessageContaining("has %d, of which 100 are of calls that timed out".formatted(taken.size()))
                .hasMessageContaining("calls of \"shop\" have %d".formatted(taken.size()))
                .hasMessageContaining("the limit of the node is 1536");
    }

    @Test
    void aClosedSharesSlotsGoToOthersAlsoThoseThatReturnLate() {
        for (int i = 0; i < 20; i++) {
            RpcSlotShare share = slots.calls("a", "f");
            List<RpcSlot> taken = takeAll(share, LtRpc.MESSAGE_BYTES_MAX);
            assertThat(taken).as("round %d", i).hasSize(FOR_CALLS[2] / 3);
            taken.subList(0, 10).forEach(RpcSlot::giveBack);
            share.close();
            share.close();
            assertThatThrownBy(() -> share.tryTake(1)).isInstanceOf(NodeUnreachableException.class);
            taken.subList(10, taken.size()).forEach(RpcSlot::giveBack);
        }
    }
}
