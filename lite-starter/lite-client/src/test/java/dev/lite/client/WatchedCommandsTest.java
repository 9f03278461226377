package dev.lite.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.client.DataPath.Outcome;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.session.protocol.CompletionBell;
import dev.lite.session.protocol.Doorbell;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.DeepStack;
import dev.lite.testing.Waits;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The platform thread that watches commands for which no thread waits. The tests are the node. */
class WatchedCommandsTest {
    private static final long LONG_NS = Waits.seconds(60).toNanos();
    /** The thread sleeps whenever no command is done. */
    private static final int SPINS = 0;

    private final SharedMemory memory =
            SharedMemory.createMemfd("watched", SessionArea.slotOffset(SessionArea.SLOTS_MAX));
    private final CompletionBell node = new CompletionBell(memory.address());
    private final WatchedCommands commands = new WatchedCommands(memory.address(), SPINS);
    private final BlockingQueue<String> ended = new LinkedBlockingQueue<>();

    @AfterEach
    void end() {
        commands.lose();
        assertThat(commands.awaitEnd(System.nanoTime() + LONG_NS)).isTrue();
        memory.close();
    }

    private long state(int slot) {
        return memory.address() + SessionArea.slotOffset(slot) + SessionArea.STATE;
    }

    private void submit(int slot, long timeoutNs) {
        RawMemory.putIntRelease(state(slot), SessionArea.STATE_WATCHED);
        commands.submit(slot, System.nanoTime() + timeoutNs, (its, outcome, helping) -> ended.add(its + " " + outcome));
    }

    private void awaitSleep() {
        Waits.until(
                "the watching thread sleeps",
                () -> RawMemory.getIntAcquire(memory.address() + SessionArea.BELL) == SessionArea.BELL_SLEEPING);
    }

    private void awaitEnded(int slot, Outcome outcome) {
        Waits.until("a command has ended", () -> !ended.isEmpty());
        assertThat(ended.poll()).isEqualTo(slot + " " + outcome);
    }

    @Test
    void eachCommandEndsWhenItIsDoneAlsoWhileTheThreadSleeps() {
        for (int slot = 0; slot < SessionArea.SLOTS_MAX; slot++) {
            submit(slot, LONG_NS);
        }
        for (int slot = SessionArea.SLOTS_MAX - 1; slot >= 0; slot--) {
            awaitSleep();
            assertThat(ended).isEmpty();
            node.done(slot);
            awaitEnded(slot, Outcome.DONE);
        }
    }

    @Test
    void aCommandEndsAtItsDeadlineAndLeavesTheOthers() {
        submit(0, LONG_NS);
        awaitSleep();
        submit(1, 1_000_000);
        awaitEnded(1, Outcome.TIMED_OUT);
        awaitSleep();
        node.done(0);
        awaitEnded(0, Outcome.DONE);
    }

    @Test
    void theEndOfTheSessionEndsCommandsNowAndLater() {
        submit(0, LONG_NS);
        awaitSleep();
        commands.lose();
        awaitEnded(0, Outcome.LOST);
        submit(1, LONG_NS);
        awaitEnded(1, Outcome.LOST);
    }

    /** Helps until the future is done, however short each turn is. */
    private Thread startHelper(CompletableFuture<?> awaited) {
        return Thread.ofPlatform().daemon().start(() -> {
            while (!awaited.isDone()) {
                commands.help(awaited, System.nanoTime() + LONG_NS);
            }
        });
    }

    private int bell() {
        return RawMemory.getIntAcquire(memory.address() + SessionArea.BELL);
    }

    /** Ends a command while a thread helps; false if the helper had just left, so that the node woke the watching thread. */
    private boolean endWithHelp(int slot) {
        CompletableFuture<Boolean> byHelper = new CompletableFuture<>();
        RawMemory.putIntRelease(state(slot), SessionArea.STATE_WATCHED);
        commands.submit(slot, System.nanoTime() + LONG_NS, (its, outcome, helping) -> byHelper.complete(helping));
        awaitSleep();
        Thread helper = startHelper(byHelper);
        Waits.until("a thread helps", () -> bell() == SessionArea.BELL_TAKEN);
        boolean woke = node.done(slot);
        Waits.join(helper);
        return !woke && byHelper.join();
    }

    @Test
    void aThreadThatWaitsEndsCommandsItselfAndTheNodeWakesNobody() {
        boolean helped = false;
        for (int round = 0; round < 1_000 && !helped; round++) {
            helped = endWithHelp(0);
        }
        assertThat(helped).isTrue();
    }

    @Test
    void theNodeWakesTheWatchingThreadWhenTheLastHelperHasLeft() {
        for (int round = 0; round < 50; round++) {
            submit(1, LONG_NS);
            boolean unused = endWithHelp(0);
            awaitSleep();
            assertThat(ended).isEmpty();
            assertThat(node.done(1)).isTrue();
            awaitEnded(1, Outcome.DONE);
        }
    }

    @Test
    void aDeadlineThatIsShorterThanTheSleepHoldsAlsoIfItCameWhileAThreadHelped() {
        submit(0, LONG_NS);
        awaitSleep();
        CompletableFuture<?> never = new CompletableFuture<>();
        Thread helper = startHelper(never);
        Waits.until("a thread helps", () -> bell() == SessionArea.BELL_TAKEN);
        submit(1, 20_000_000);
        never.cancel(false);
        Waits.join(helper);
        awaitEnded(1, Outcome.TIMED_OUT);
        node.done(0);
        awaitEnded(0, Outcome.DONE);
    }

    @Test
    void theEndOfTheSessionSendsHelpersAway() {
        CompletableFuture<?> never = new CompletableFuture<>();
        submit(0, LONG_NS);
        Thread helper = Thread.ofPlatform().daemon().start(() -> {
            while (ended.isEmpty()) {
                commands.help(never, System.nanoTime() + LONG_NS);
            }
        });
        Waits.until("a thread helps", () -> bell() == SessionArea.BELL_TAKEN);
        commands.lose();
        awaitEnded(0, Outcome.LOST);
        ended.add("over");
        Waits.join(helper);
        ended.clear();
    }

    @Test
    void noCommandIsMissedWhileThreadsComeAndHelp() {
        CompletableFuture<?> over = new CompletableFuture<>();
        Thread one = startHelper(over);
        Thread two = startHelper(over);
        try {
            useSlotsInTurns(1_500); // three threads pause here
        } finally {
            over.complete(null);
        }
        Waits.join(one);
        Waits.join(two);
    }

    @Test
    void noCommandIsMissedWhileManySlotsAreUsedInTurns() {
        useSlotsInTurns(3_000);
    }

    private void useSlotsInTurns(int rounds) {
        int slots = 8;
        AtomicInteger left = new AtomicInteger(slots * rounds);
        for (int slot = 0; slot < slots; slot++) {
            submitAgain(slot, rounds, left);
        }
        Doorbell submissions = new Doorbell(memory.address());
        Thread completing = Thread.ofPlatform().daemon().start(() -> {
            while (left.get() > 0) {
                for (long bits = submissions.fetch(); bits != 0; bits &= bits - 1) {
                    boolean unused = node.done(Long.numberOfTrailingZeros(bits));
                }
                Thread.onSpinWait();
            }
        });
        Waits.join(completing);
        assertThat(left).hasValue(0);
    }

    /** The thread that ends a command submits the slot's next one. */
    private void submitAgain(int slot, int rounds, AtomicInteger left) {
        if (rounds > 0) {
            RawMemory.putIntRelease(state(slot), SessionArea.STATE_WATCHED);
            commands.submit(slot, System.nanoTime() + LONG_NS, (its, outcome, helping) -> {
                left.getAndDecrement();
                submitAgain(its, rounds - 1, left);
            });
        }
    }

    /** Else two commands would use one slot at the same time. */
    @Test
    void aSlotWhoseCommandIsWatchedIsNotTheCallersAlsoIfItsStackOverflows() {
        Doorbell doorbell = new Doorbell(memory.address());
        WatchedCommands.Ending ending = (its, outcome, helping) -> ended.add(its + " " + outcome);
        long deadlineNs = System.nanoTime() + LONG_NS;
        for (int frames = 0; frames < 150; frames++) {
            assertThat(doorbell.arm()).isTrue(); // so that the call is deep
            if (frames == 0) {
                commands.submit(0, deadlineNs, ending); // loads the classes
                finish(doorbell, 0);
                assertThat(doorbell.arm()).isTrue();
            }
            boolean[] submitted = {false};
            DeepStack.run(frames, () -> {
                commands.submit(0, deadlineNs, ending);
                submitted[0] = true;
            });
            if (submitted[0]) {
                finish(doorbell, 0);
            } else {
                node.done(0);
                submit(1, LONG_NS);
                finish(doorbell, 1); // a command in the other slot would end first
            }
        }
    }

    private void finish(Doorbell doorbell, int slot) {
        long unused = doorbell.fetch();
        node.done(slot);
        awaitEnded(slot, Outcome.DONE);
    }

    /** Else the next owner, which may return it without a command of its own, would leave it to the node for ever. */
    @Test
    void aSlotHasNoCommandIfThereIsNoThreadToWatchIt() {
        SessionArea area = new SessionArea(1, 4096);
        SharedMemory one = SharedMemory.createMemfd("no-thread", area.bytes());
        WatchedCommands noThread = new WatchedCommands(one.address(), SPINS, thread -> {
            throw new OutOfMemoryError("unable to create native thread, on purpose");
        });
        DataPath data = new DataPath(one, area, SPINS, new Turns(), new ClientCounts(), noThread);
        int slot = data.slots().tryAcquire();
        long deadlineNs = System.nanoTime() + LONG_NS;
        assertThatThrownBy(() -> data.submitWatched(
                        slot, Op.READ, 1, 0, 8, 0, 0, LONG_NS, deadlineNs, (its, outcome, helping) -> ended.add("it")))
                .isInstanceOf(OutOfMemoryError.class);
        data.slots().release(slot);

        assertThat(data.slots().tryAcquire()).isEqualTo(slot);
        data.returnSlot(slot);
        assertThat(data.slots().tryAcquire()).as("a free slot").isEqualTo(slot);

        data.slots().release(slot);
        assertThat(data.close(deadlineNs)).isTrue();
        assertThat(ended).isEmpty();
    }
}
