package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.mr.data.Run;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What the master decides about tasks and their copies, without workers and clocks. */
class PlanTest {
    private static final long SECOND = 1_000_000_000;
    private static final Run NOTHING = new Run(List.of());

    private final Plan plan = new Plan(List.of(new Plan.Split(0, 0, 10), new Plan.Split(0, 10, 20)), 1);
    private final Plan.Slot fast = slot("fast");
    private final Plan.Slot slow = slot("slow");

    private Plan.Slot slot(String name) {
        Plan.Slot slot = new Plan.Slot(name);
        plan.join(slot);
        return slot;
    }

    private Plan.Task next(Plan.Slot slot, long nowNs) {
        return Objects.requireNonNull(plan.next(slot, nowNs), "a task");
    }

    /** The slow thread has a task for longer than the fast one needed for its own; then both have it. */
    private Plan.Task copied() {
        Plan.Task straggler = next(slow, 0);
        Plan.Task done = next(fast, 0);
        assertThat(plan.accept(done, fast, NOTHING, Map.of("records", 1L), SECOND / 2))
                .isTrue();
        assertThat(plan.next(fast, SECOND / 2)).isNull();
        assertThat(next(fast, 3 * SECOND)).isSameAs(straggler);
        assertThat(plan.again).containsExactly("map task 0 a second time on fast: it takes long on slow");
        return straggler;
    }

    @Test
    void theLateResultOfACopyIsNotCounted() {
        Plan.Task task = copied();
        assertThat(plan.accept(task, fast, NOTHING, Map.of("records", 10L), 4 * SECOND))
                .isTrue();
        assertThat(plan.accept(task, slow, NOTHING, Map.of("records", 10L), 5 * SECOND))
                .isFalse();
        assertThat(plan.counters()).isEqualTo(Map.of("records", 11L));
        assertThat(slow.dirty).isFalse();
    }

    /** No reduce task needs it again, so it never runs again. */
    @Test
    void theCountersOfAMapTaskThatIsLostAfterItsResultsWereUsedStay() {
        Plan.Task first = next(slow, 0);
        Plan.Task second = next(fast, 0);
        assertThat(plan.accept(first, slow, NOTHING, Map.of("records", 1L), SECOND))
                .isTrue();
        assertThat(plan.accept(second, fast, NOTHING, Map.of("records", 10L), SECOND))
                .isTrue();
        plan.finished(slow, List.of());
        plan.finished(fast, List.of());
        Plan.Task reduce = next(fast, SECOND);
        assertThat(plan.accept(reduce, fast, NOTHING, Map.of("keys", 5L), 2 * SECOND))
                .isTrue();
        assertThat(plan.lose(slow, "killed")).isNull();
        assertThat(plan.root().state).isEqualTo(Plan.State.DONE);
        assertThat(plan.next(fast, 3 * SECOND)).isNull();
        assertThat(plan.counters()).isEqualTo(Map.of("records", 11L, "keys", 5L));
    }

    /** Both threads have done a map task; the fast one has written its results, and has nothing to do. */
    private void awaitResultsOfSlow() {
        Plan.Task first = next(slow, 0);
        Plan.Task second = next(fast, 0);
        assertThat(plan.accept(first, slow, NOTHING, Map.of(), SECOND)).isTrue();
        assertThat(plan.accept(second, fast, NOTHING, Map.of(), SECOND)).isTrue();
        assertThat(plan.shouldFinish(fast, SECOND)).isTrue();
        plan.finished(fast, List.of());
        assertThat(plan.next(fast, 2 * SECOND)).isNull();
    }

    @Test
    void aThreadThatStopsBetweenTasksIsDoneWithout() {
        awaitResultsOfSlow();
        assertThat(plan.abandonStuck(fast, 30 * SECOND)).isFalse();
        assertThat(plan.abandonStuck(fast, 32 * SECOND)).isTrue();
        assertThat(next(fast, 32 * SECOND).kind).isEqualTo(Plan.Kind.MAP);
        assertThat(plan.again).containsExactly("map task 0 again on fast: a thread of slow does not write its results");
        assertThat(slow.abandoned).isTrue();
    }

    @Test
    void aThreadThatWritesForLongGetsTwiceAsLongTheNextTime() {
        awaitResultsOfSlow();
        assertThat(plan.abandonStuck(fast, 32 * SECOND)).isTrue();
        Plan.Task repeated = next(fast, 32 * SECOND);
        assertThat(plan.accept(repeated, fast, NOTHING, Map.of(), 33 * SECOND)).isTrue();
        Plan.Slot third = slot("third");
        assertThat(plan.shouldFinish(fast, 34 * SECOND)).isTrue();
        assertThat(plan.abandonStuck(third, 94 * SECOND)).isFalse();
        assertThat(plan.abandonStuck(third, 95 * SECOND)).isTrue();
    }

    @Test
    void aThreadThatAsksIsNotDoneWithout() {
        awaitResultsOfSlow();
        assertThat(plan.abandonStuck(slow, 99 * SECOND)).isFalse();
        plan.giveBack(slow, 99 * SECOND);
        assertThat(plan.abandonStuck(fast, 100 * SECOND)).isFalse();
    }

    @Test
    void aTaskHasAtMostTwoCopies() {
        copied();
        assertThat(plan.next(slot("third"), 100 * SECOND)).isNull();
    }

    @Test
    void ofTwoCopiesWithoutMemoryOneContinuesAlone() {
        Plan.Task task = copied();
        assertThat(plan.outOfMemory(task, slow, "full", 4 * SECOND)).isNull();
        assertThat(task.state).isEqualTo(Plan.State.RUNNING);
        assertThat(plan.next(slow, 100 * SECOND)).as("another copy").isNull();
        assertThat(plan.accept(task, fast, NOTHING, Map.of(), 100 * SECOND)).isTrue();
    }

    @Test
    void aTaskThatIsLostFiftyTimesRunsAgainBeforeTheJobFails() {
        for (int i = 1; i <= 51; i++) {
            Plan.Slot lost = slot("worker " + i);
            Plan.Task task = next(lost, i * SECOND);
            assertThat(task.index).isZero();
            if (i % 2 == 0) {
                assertThat(plan.accept(task, lost, NOTHING, Map.of(), i * SECOND))
                        .isTrue();
            }
            assertThat(plan.lose(lost, "killed"))
                    .isEqualTo(i <= 50 ? null : "the map task 0 was lost 51 times with its worker: killed");
        }
    }

    @Test
    void aTaskWhoseResultsCannotBeWrittenTenTimesRunsAgainBeforeTheJobFails() {
        Plan.Task other = next(fast, 0);
        assertThat(plan.accept(other, fast, NOTHING, Map.of(), 0)).isTrue();
        for (int i = 1; i <= 11; i++) {
            Plan.Slot failing = slot("failing");
            Plan.Task task = next(failing, i * SECOND);
            assertThat(task).isNotSameAs(other);
            assertThat(plan.accept(task, failing, NOTHING, Map.of(), i * SECOND))
                    .isTrue();
            assertThat(plan.resultsUnwritten(failing, "no answer"))
                    .isEqualTo(
                            i <= 10 ? null : "the results of the map task 1 could not be written 11 times: no answer");
            assertThat(plan.lose(failing, "lost")).isNull();
        }
    }

    @Test
    void aTaskWhoseResultCannotBeWrittenFiftyTimesRunsAgainBeforeTheJobFails() {
        Plan.Task task = next(fast, 0);
        for (int i = 1; i <= 51; i++) {
            assertThat(plan.resultUnwritten(task, fast, "no answer", i * SECOND))
                    .isEqualTo(
                            i <= 50 ? null : "the result of the map task 0 could not be written 51 times: no answer");
            assertThat(next(fast, (i + 1) * SECOND)).isSameAs(task);
        }
        assertThat(plan.again).hasSize(51).containsOnly("map task 0 again on fast: no answer");
    }

    @Test
    void aTaskThatFindsNoMemoryRunsAgainThreeTimesBeforeTheJobFails() {
        Plan.Task task = next(fast, 0);
        for (int i = 1; i <= 3; i++) {
            assertThat(plan.outOfMemory(task, fast, "full", i * SECOND)).isNull();
            assertThat(next(slow, i * SECOND)).as("the other task").isNotSameAs(task);
            plan.giveBack(slow, i * SECOND);
            assertThat(next(fast, (i + 1) * SECOND)).isSameAs(task);
        }
        assertThat(plan.again).hasSize(3).contains("map task 0 again on fast: full");
        assertThat(plan.outOfMemory(task, fast, "full", 9 * SECOND)).isEqualTo("full");
    }

    @Test
    void aTaskWaitsLongerForMemoryThatABusyThreadWillFree() {
        Plan.Task task = next(fast, 0);
        slow.toFree.add(7);
        for (int i = 1; i <= 50; i++) {
            assertThat(plan.outOfMemory(task, fast, "full", i * SECOND)).isNull();
            assertThat(next(fast, (i + 1) * SECOND)).isSameAs(task);
        }
        assertThat(plan.outOfMemory(task, fast, "full", 99 * SECOND)).isEqualTo("full");
    }
}
