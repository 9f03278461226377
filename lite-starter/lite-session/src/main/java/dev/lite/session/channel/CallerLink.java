package dev.lite.session.channel;

import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.session.async.PollingHelp;
import dev.lite.session.waiting.PolledWaits;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

/** The caller's end of a link: sends requests and receives replies. A request that was sent counts as taken. */
final class CallerLink extends ChannelLink implements CallStarter {
    private final PolledWaits virtualWaits;
    /** A bit for each slot that a virtual thread waits for. */
    private final AtomicLong virtuals = new AtomicLong();

    /** By slot. */
    private final VirtualWait[] waits;
    /** Calls that no thread waits for. */
    private final StartedCalls started;

    final LinkPollRole role;

    /** While a thread is expected, the link is not armed for started calls. */
    private final ExpectedPolls expected = new ExpectedPolls(System.nanoTime());

    /**
     * Made before the connection is watched.
     *
     * @param spins the largest number of pauses before a thread sleeps
     * @param ender ends the call of a slot that no thread waits for; the reply is there, the deadline has passed or the channel has ended
     */
    CallerLink(
            ChannelMemory memory,
            LinkSocket socket,
            LinkWatch watch,
            PolledWaits virtualWaits,
            int spins,
            IntConsumer ender) {
        super(memory, socket, watch);
        this.virtualWaits = virtualWaits;
        role = new LinkPollRole(this, spins);
        waits = new VirtualWait[area.slots()];
        Arrays.setAll(waits, VirtualWait::new);
        started = new StartedCalls(memory, ender);
    }

    /** Sends the request of a slot, or leaves it to the thread that polls. Never blocks. */
    void submit(int slot) {
        if (Thread.currentThread().isVirtual()) {
            leave(slot); // its wait makes sure that a thread polls
            return;
        }
        note(slot);
        if (!role.isPolled()) {
            sendNow();
        }
    }

    @Override
    public void begin(int slot, long deadlineNs) {
        started.begin(slot, deadlineNs);
    }

    @Override
    public void start(int slot, boolean soon, long nowNs) {
        note(slot);
        if (soon) { // if not, the watching thread sends and polls a moment later
            expected.startedSoonBack(nowNs); // before the tick is asked for
            watch.left();
            return;
        }
        if (!role.isPolled()) {
            sendNow();
        }
        if (!expected.started(nowNs)) {
            armForSleepers();
        }
    }

    /** A thread that waited for started calls stops polling. It must {@link #armForSleepers}, or leave that to others. */
    void expectPolls() {
        if (expected.leave(System.nanoTime())) {
            watch.left();
        }
    }

    @Override
    public void endsStages() {
        expected.staged(System.nanoTime());
    }

    @Override
    public PollingHelp.Wait newWait(BooleanSupplier over) {
        return role.newWait(over);
    }

    @Override
    void ticked() {
        if (!expected.isExpected()) {
            return;
        }
        if (expected.goesOn(System.nanoTime(), role.polledNs())) {
            watch.left();
        } else if (memory.enter()) {
            try {
                armForSleepers(); // who leads or looks hands over when it ends
            } finally {
                memory.exit();
            }
        }
    }

    @Override
    void awoke() {
        role.awoke();
    }

    @Override
    void ended() {
        int unused = started.endAll();
    }

    /** If threads sleep and none looks or polls, the watching thread does. */
    void armForSleepers() {
        if (again() == Again.NOW) {
            arm();
        }
    }

    /** Waits as {@link LinkPollRole#await}, in a virtual thread, for which the thread of the waits polls. */
    void awaitVirtually(int slot, int generation, long deadlineNs) {
        VirtualWait wait = waits[slot];
        wait.generation = generation;
        virtuals.getAndUpdate(bits -> bits | 1L << slot);
        try {
            while (!wait.isReady() && System.nanoTime() - deadlineNs < 0) {
                virtualWaits.await(wait, deadlineNs);
                if (!wait.isReady()) { // there are so many waits that the polling thread may not know of this one
                    sendNow();
                    boolean unused = poll();
                }
            }
        } finally {
            if (virtuals.updateAndGet(bits -> bits & ~(1L << slot)) == 0) {
                endVirtualPolls(); // perhaps of this link: nobody waits for it
            }
        }
    }

    private final class VirtualWait implements PolledWaits.Wait {
        private final int slot;
        private final long word;
        /** Written before the wait. */
        private int generation;

        VirtualWait(int slot) {
            this.slot = slot;
            word = memory.word(slot);
        }

        @Override
        public PolledWaits.Polled poll() {
            if (Long.numberOfTrailingZeros(virtuals.get()) == slot) { // once for all
                pollVirtually();
                sendNow();
                boolean unused = CallerLink.this.poll();
            }
            return isReady() ? PolledWaits.Polled.OVER : PolledWaits.Polled.NOTHING;
        }

        @Override
        public boolean isReady() {
            return !SlotWord.isWaiting(RawMemory.getIntAcquire(word), generation) || memory.isEnded();
        }

        @Override
        public boolean announce(FutexWords words) {
            int expected = ChannelCaller.announce(word, generation);
            if (expected == 0 || memory.isEnded()) {
                return false;
            }
            words.add(word, expected);
            endVirtualPolls();
            arm();
            return true;
        }
    }

    @Override
    Again again() {
        boolean awaited = role.hasSleepers() || virtuals.get() != 0 || (started.isAny() && !expected.isExpected());
        return awaited && !role.isTaken() ? Again.NOW : Again.NEVER;
    }

    @Override
    boolean isPolled() {
        return isVirtuallyPolled() || role.isPolled();
    }

    @Override
    int prepare(int slot, long header) {
        long word = memory.word(slot);
        while (true) {
            int seen = RawMemory.getIntVolatile(word);
            int state = SlotWord.state(seen);
            if (SlotWord.has(seen, SlotWord.ENDED) || (state != SlotWord.PENDING && state != SlotWord.CANCELLED)) {
                return NOTHING; // the channel has ended
            }
            if (state == SlotWord.CANCELLED) { // nobody waits for the request, and the server never sees it
                if (RawMemory.compareAndSetInt(word, seen, SlotWord.with(seen, SlotWord.DONE))) {
                    return NOTHING;
                }
            } else if (RawMemory.compareAndSetInt(word, seen, SlotWord.with(seen, SlotWord.TAKEN))) {
                int lengths = RawMemory.getInt(memory.slot(slot) + ChannelArea.REQUEST_LENGTH);
                int capacity = RawMemory.getInt(memory.slot(slot) + ChannelArea.CAPACITY);
                LinkFrame.put(header, LinkFrame.REQUEST, slot, SlotWord.generation(seen), lengths, capacity);
                return lengths & ChannelArea.LENGTH_MASK;
            }
        }
    }

    @Override
    public int check(int kind, int slot, int generation, int first, int second) {
        if (kind != LinkFrame.REPLY) {
            memory.endFor("the kind of a frame to a caller", kind, String.valueOf(LinkFrame.REPLY));
            return NOTHING;
        }
        int seen = RawMemory.getIntVolatile(memory.word(slot));
        int state = SlotWord.state(seen);
        if (SlotWord.generation(seen) != generation || (state != SlotWord.TAKEN && state != SlotWord.CANCELLED)) {
            memory.endFor(
                    "the generation of a reply in slot %d, whose word is %d,".formatted(slot, seen),
                    generation,
                    "that of a request");
            return NOTHING;
        }
        if (second < 0 || second > area.windowBytes()) {
            memory.endFor("the length of a reply in slot " + slot, second, "0 to " + area.windowBytes());
            return NOTHING;
        }
        return second;
    }

    @Override
    public void arrived(int kind, int slot, int generation, int first, int second) {
        RawMemory.putInt(memory.slot(slot) + ChannelArea.STATUS, first);
        RawMemory.putInt(memory.slot(slot) + ChannelArea.REPLY_LENGTH, second);
        // First: as soon as the word says done, the slot may be that of another call.
        boolean ends = started.claim(slot);
        long word = memory.word(slot);
        int done = SlotWord.of(generation, SlotWord.DONE);
        if (SlotWord.has(RawMemory.getAndSetInt(word, done), SlotWord.SLEEPING)) {
            int unused = Futex.wake(word, 1);
        }
        if (ends) {
            started.end(slot);
        }
    }
}
