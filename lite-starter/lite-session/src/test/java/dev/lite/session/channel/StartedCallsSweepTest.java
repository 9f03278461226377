package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.DeepStack;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What happens to the calls of a slot between two steps of a sweep: its clock runs the next event whenever the sweep compares a deadline
 * with the time. The timers never sweep here, since all deadlines are far.
 */
class StartedCallsSweepTest {
    private static final int SLOT = 1;
    private static final long HOUR_NS = TimeUnit.HOURS.toNanos(1);

    private final long firstDeadlineNs = System.nanoTime() + HOUR_NS;
    private final long secondDeadlineNs = firstDeadlineNs + HOUR_NS;

    private final ChannelMemory memory = memory();
    private final List<Integer> ended = new ArrayList<>();
    private final Queue<Runnable> events = new ArrayDeque<>();
    private long nowNs = firstDeadlineNs - 1;
    private final StartedCalls started = new StartedCalls(memory, ended::add, this::readClock);

    private static ChannelMemory memory() {
        ChannelArea area = new ChannelArea(4, 256);
        return new ChannelMemory(area.create(), area, "a channel");
    }

    @AfterEach
    void close() {
        memory.close();
    }

    private long readClock() {
        Runnable event = events.poll();
        if (event != null) {
            event.run();
        }
        return nowNs;
    }

    /** The reply to a call comes; whether it finds its call. */
    private boolean reply() {
        return started.claim(SLOT);
    }

    /** The first call of the slot ends when the sweep compares its deadline, and the slot has a second one at once. */
    private void secondCallBeginsDuringTheSweep() {
        started.begin(SLOT, firstDeadlineNs);
        nowNs = firstDeadlineNs;
        events.add(() -> {
            assertThat(reply()).as("the reply finds the first call").isTrue();
            started.begin(SLOT, secondDeadlineNs);
        });
    }

    @Test
    void aReplyFindsItsCallThoughTheSweepSawTheFormerCallOfItsSlotLate() {
        secondCallBeginsDuringTheSweep();
        List<Boolean> found = new ArrayList<>();
        events.add(() -> found.add(reply()));
        started.sweep();
        Objects.requireNonNullElse(events.poll(), () -> {}).run(); // the sweep may not have looked again
        assertThat(found).containsExactly(true);
        assertThat(ended).isEmpty();
        assertThat(started.isAny()).isFalse();
    }

    /** Else a thread that stops polling just then does not arm the link, and nobody receives the reply. */
    @Test
    void aCallIsUnderWayAllTheTimeThoughTheSweepSawTheFormerCallOfItsSlotLate() {
        secondCallBeginsDuringTheSweep();
        List<Boolean> any = new ArrayList<>();
        events.add(() -> any.add(started.isAny()));
        started.sweep();
        Objects.requireNonNullElse(events.poll(), () -> {}).run();
        assertThat(any).containsExactly(true);
        assertThat(ended).isEmpty();
    }

    @Test
    void aLateCallEndsOnceThoughItsReplyComesDuringTheSweep() {
        started.begin(SLOT, firstDeadlineNs);
        nowNs = firstDeadlineNs;
        events.add(() -> assertThat(reply()).isTrue());
        started.sweep();
        assertThat(ended).isEmpty();
        assertThat(started.isAny()).isFalse();
    }

    @Test
    void theSweepEndsLateCallsAndOnlyThese() {
        started.begin(SLOT, firstDeadlineNs);
        started.begin(SLOT + 1, secondDeadlineNs);
        started.begin(SLOT - 1, firstDeadlineNs);
        started.sweep();
        assertThat(ended).isEmpty();
        nowNs = firstDeadlineNs;
        started.sweep();
        assertThat(ended).containsExactly(SLOT - 1, SLOT);
        assertThat(reply()).as("a late reply finds no call").isFalse();
        nowNs = secondDeadlineNs;
        started.sweep();
        assertThat(ended).containsExactly(SLOT - 1, SLOT, SLOT + 1);
        assertThat(started.isAny()).isFalse();
    }

    @Test
    void aCallWhoseBeginOverflowsTheStackSpoilsNoOther() {
        for (int frames = 0; frames < 100; frames++) {
            DeepStack.run(frames, () -> started.begin(SLOT, firstDeadlineNs));
            boolean unused = reply(); // if it has begun
            started.begin(SLOT, firstDeadlineNs);
            assertThat(started.underWay()).as("%d frames", frames).isEqualTo(1L << SLOT);
            assertThat(reply()).as("%d frames", frames).isTrue();
            assertThat(started.isAny()).as("%d frames", frames).isFalse();
        }
    }
}
