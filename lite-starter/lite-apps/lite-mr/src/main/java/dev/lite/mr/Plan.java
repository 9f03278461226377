package dev.lite.mr;

import dev.lite.mr.data.Run;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The tasks of a job, and which of them are done: map tasks, one reduce task per partition, and a tree of merge tasks of which the last one
 * has the result. Decides what a free thread does. The master's lock guards it.
 */
final class Plan {
    private static final long STRAGGLER_NS_MIN = 1_000_000_000;
    private static final long PAUSE_NS = 200_000_000;
    private static final int LOST_INPUTS_MAX = 50;
    /** Large, because each loss may be that of another worker. */
    private static final int LOST_MAX = 50;

    private static final int UNWRITTEN_MAX = 10;
    /** Large, because an attempt may fail at once for as long as a node is away. */
    private static final int RESULT_UNWRITTEN_MAX = 50;

    private static final int NO_MEMORY_MAX = 3;
    private static final int NO_MEMORY_BUT_SOON_MAX = 50;
    /** How long a thread may combine, sort and write accepted results without a word; the first time. */
    private static final long SILENCE_NS_FIRST = 30_000_000_000L;

    enum Kind {
        MAP,
        REDUCE,
        MERGE
    }

    enum State {
        PENDING,
        RUNNING,
        DONE,
        /** It was done, and its result was used and freed. */
        FREED
    }

    /** What one map task reads. */
    record Split(int input, long start, long end) {}

    /** A thread of a worker, as this job knows it. */
    static final class Slot {
        final String worker;
        /** Whether it executed a task of this job. */
        boolean joined;
        /** Whether it has map results that it has not written yet. */
        boolean dirty;
        /** Whether the job does without it, because it does not come back from a task. */
        boolean abandoned;

        boolean released;
        /** When it asked for a task, reported one, or got an order, the last time. */
        private long heardNs;
        /** By partition, of all tasks that it was accepted for. */
        final List<PartitionRun> runs = new ArrayList<>();
        /** The tasks whose results it has to free. */
        final List<Integer> toFree = new ArrayList<>();

        Slot(String worker) {
            this.worker = worker;
        }
    }

    record PartitionRun(int partition, Run run) {}

    private record Attempt(Slot slot, long startNs) {}

    /** A task. */
    static final class Task {
        final int id;
        final Kind kind;
        final int index;
        final @Nullable Split split;
        final List<Task> inputs;
        private final List<Attempt> attempts = new ArrayList<>();
        State state = State.PENDING;

        @Nullable
        Slot owner;

        Run run = new Run(List.of());
        /** Whether the workers were told that it is done. */
        boolean wasDone;
        /** Whether it gets no second copy, because there was no memory for two. */
        private boolean isAlone;

        /** Those of the execution that was accepted last. */
        private Map<String, Long> counters = Map.of();

        private String againReason = "";
        private int lostInputs;
        private int lost;
        private int unwritten;
        private int noMemory;
        private long notBeforeNs = Long.MIN_VALUE;

        Task(int id, Kind kind, int index, @Nullable Split split, List<Task> inputs) {
            this.id = id;
            this.kind = kind;
            this.index = index;
            this.split = split;
            this.inputs = inputs;
        }

        boolean isDone() {
            return state == State.DONE || state == State.FREED;
        }

        @Override
        public String toString() {
            return kind.name().toLowerCase(java.util.Locale.ROOT) + " task " + index;
        }
    }

    final List<Task> tasks = new ArrayList<>();
    final List<String> again = new ArrayList<>();
    private final List<Task> maps;
    private final Task root;
    private final Map<Kind, List<Long>> durations = new HashMap<>();
    private final List<Slot> slots = new ArrayList<>();
    private long silenceNs = SILENCE_NS_FIRST;

    Plan(List<Split> splits, int partitions) {
        for (Split split : splits) {
            tasks.add(new Task(tasks.size(), Kind.MAP, tasks.size(), split, List.of()));
        }
        maps = List.copyOf(tasks);
        List<Task> round = new ArrayList<>();
        for (int i = 0; i < partitions; i++) {
            round.add(add(Kind.REDUCE, i, List.of()));
        }
        int merges = 0;
        while (round.size() > 1) {
            List<Task> next = new ArrayList<>();
            for (int i = 0; i + 1 < round.size(); i += 2) {
                next.add(add(Kind.MERGE, merges++, List.of(round.get(i), round.get(i + 1))));
            }
            if (round.size() % 2 == 1) {
                next.add(round.getLast());
            }
            round = next;
        }
        root = round.getFirst();
    }

    private Task add(Kind kind, int index, List<Task> inputs) {
        Task task = new Task(tasks.size(), kind, index, null, inputs);
        tasks.add(task);
        return task;
    }

    Task root() {
        return root;
    }

    int total(Kind kind) {
        return (int) tasks.stream().filter(task -> task.kind == kind).count();
    }

    int done(Kind kind) {
        return (int) tasks.stream()
                .filter(task -> task.kind == kind && task.isDone())
                .count();
    }

    /**
     * The counters of the accepted executions, of each task once. Also of those that were lost: if the result does not need them
     * again, they do not run again.
     */
    Map<String, Long> counters() {
        Map<String, Long> sums = new HashMap<>();
        for (Task task : tasks) {
            task.counters.forEach((name, value) -> sums.merge(name, value, Long::sum));
        }
        return sums;
    }

    void join(Slot slot) {
        if (!slot.joined) {
            slot.joined = true;
            slots.add(slot);
        }
    }

    /** A thread asks for its next task: those that it was given, and did not report, are nobody's now. */
    void giveBack(Slot slot, long nowNs) {
        slot.heardNs = nowNs;
        for (Task task : tasks) {
            if (task.attempts.removeIf(attempt -> attempt.slot == slot)
                    && task.attempts.isEmpty()
                    && task.state == State.RUNNING) {
                task.state = State.PENDING;
            }
        }
    }

    /** Whether the thread has to write its map results now: no map task is left to start. */
    boolean shouldFinish(Slot slot, long nowNs) {
        boolean finish = slot.dirty && maps.stream().allMatch(Task::isDone);
        if (finish) {
            slot.heardNs = nowNs;
        }
        return finish;
    }

    /** Starts the next task of a thread; null if there is none now. */
    @Nullable
    Task next(Slot slot, long nowNs) {
        List<Task> needed = new ArrayList<>();
        collectNeeded(root, needed);
        boolean mapsNeeded = needed.stream().anyMatch(task -> task.kind == Kind.REDUCE);
        boolean mapsDone =
                maps.stream().allMatch(Task::isDone) && slots.stream().noneMatch(each -> each.dirty);
        List<Task> candidates = mapsNeeded && !mapsDone ? new ArrayList<>(maps) : new ArrayList<>();
        for (Task task : needed) {
            boolean ready = task.kind == Kind.REDUCE
                    ? mapsDone
                    : task.inputs.stream().allMatch(input -> input.state == State.DONE);
            if (ready) {
                candidates.add(task);
            }
        }
        for (Task task : candidates) {
            if (task.state == State.PENDING && task.notBeforeNs <= nowNs) {
                if (!task.againReason.isEmpty()) {
                    again.add("%s again on %s: %s".formatted(task, slot.worker, task.againReason));
                    task.againReason = "";
                }
                return start(task, slot, nowNs);
            }
        }
        for (Task task : candidates) {
            if (isStraggler(task, slot, nowNs)) {
                again.add("%s a second time on %s: it takes long on %s"
                        .formatted(task, slot.worker, task.attempts.getFirst().slot.worker));
                return start(task, slot, nowNs);
            }
        }
        return null;
    }

    private static Task start(Task task, Slot slot, long nowNs) {
        task.state = State.RUNNING;
        task.attempts.add(new Attempt(slot, nowNs));
        return task;
    }

    /** The reduce and merge tasks that are not done, and that the result needs; inputs first. */
    private static void collectNeeded(Task task, List<Task> needed) {
        if (task.state != State.DONE) {
            task.inputs.forEach(input -> collectNeeded(input, needed));
            if (task.state == State.FREED) {
                task.state = State.PENDING;
                task.againReason = "its result was freed, and what it became was lost";
            }
            needed.add(task);
        }
    }

    private boolean isStraggler(Task task, Slot slot, long nowNs) {
        if (task.isAlone
                || task.state != State.RUNNING
                || task.attempts.size() != 1
                || task.attempts.getFirst().slot == slot) {
            return false;
        }
        return nowNs - task.attempts.getFirst().startNs > timeoutNs(task.kind);
    }

    /** How long a task may take before a second copy starts: three times the median of its kind, and at least a second. */
    private long timeoutNs(Kind kind) {
        List<Long> known = durations.getOrDefault(kind, List.of());
        if (known.isEmpty()) {
            return kind == Kind.MAP ? 10 * STRAGGLER_NS_MIN : 30 * STRAGGLER_NS_MIN;
        }
        long median = known.stream().sorted(Comparator.naturalOrder()).toList().get(known.size() / 2);
        return Math.max(STRAGGLER_NS_MIN, 3 * median);
    }

    /** The runs of a reduce task's partition, or the results of a merge task's inputs. */
    List<Run> runsFor(Task task) {
        if (task.kind == Kind.MERGE) {
            return task.inputs.stream().map(input -> input.run).toList();
        }
        return slots.stream()
                .flatMap(slot -> slot.runs.stream())
                .filter(run -> run.partition == task.index)
                .map(PartitionRun::run)
                .toList();
    }

    /** Accepts a task, unless it was done before; then the thread drops its result. */
    boolean accept(Task task, Slot slot, Run run, Map<String, Long> more, long nowNs) {
        if (task.isDone() || slot.abandoned) {
            return false;
        }
        for (Attempt attempt : task.attempts) {
            if (attempt.slot == slot) {
                durations.computeIfAbsent(task.kind, kind -> new ArrayList<>()).add(nowNs - attempt.startNs);
            }
        }
        task.attempts.removeIf(attempt -> attempt.slot == slot);
        slot.heardNs = nowNs;
        task.state = State.DONE;
        task.wasDone = true;
        task.owner = slot;
        task.run = run;
        slot.dirty |= task.kind == Kind.MAP;
        task.counters = Map.copyOf(more);
        for (Task input : task.inputs) {
            if (input.owner != null && input.state == State.DONE) {
                input.owner.toFree.add(input.id);
            }
            input.state = State.FREED;
            input.owner = null;
            input.run = new Run(List.of());
        }
        return true;
    }

    /** Takes the map results that a thread has written. */
    void finished(Slot slot, List<PartitionRun> runs) {
        slot.dirty = false;
        slot.runs.addAll(runs);
    }

    /**
     * A task lost an input. It runs again, when the loss is known.
     *
     * @return a reason to fail the job, or null
     */
    @Nullable
    String inputLost(Task task, Slot slot, String message, long nowNs) {
        task.attempts.removeIf(attempt -> attempt.slot == slot);
        if (task.isDone() || !task.attempts.isEmpty()) {
            return null;
        }
        task.state = State.PENDING;
        task.againReason = "it could not read an input: " + message;
        task.notBeforeNs = nowNs + PAUSE_NS;
        return ++task.lostInputs > LOST_INPUTS_MAX
                ? "the %s could not read its input %d times: %s".formatted(task, task.lostInputs, message)
                : null;
    }

    /**
     * A task found no memory for its result. A second copy may have taken it, and threads free what is not needed any more when they ask
     * for their next task; so it runs again, alone and a little later.
     *
     * @return a reason to fail the job, or null
     */
    @Nullable
    String outOfMemory(Task task, Slot slot, String message, long nowNs) {
        task.attempts.removeIf(attempt -> attempt.slot == slot);
        task.isAlone = true;
        if (task.isDone() || !task.attempts.isEmpty()) {
            return null;
        }
        boolean isMoreComing = slots.stream().anyMatch(each -> !each.toFree.isEmpty());
        if (++task.noMemory > (isMoreComing ? NO_MEMORY_BUT_SOON_MAX : NO_MEMORY_MAX)) {
            return message;
        }
        task.state = State.PENDING;
        task.againReason = message;
        task.notBeforeNs = nowNs + PAUSE_NS;
        return null;
    }

    /**
     * A thread that works cannot write the results of its map tasks. {@link #lose} follows, since its worker registers again; then they run
     * again.
     *
     * @return a reason to fail the job, or null
     */
    @Nullable
    String resultsUnwritten(Slot slot, String message) {
        String failure = null;
        for (Task task : maps) {
            if (task.state == State.DONE && task.owner == slot && ++task.unwritten > UNWRITTEN_MAX) {
                failure = "the results of the %s could not be written %d times: %s"
                        .formatted(task, task.unwritten, message);
            }
        }
        return failure;
    }

    /**
     * A thread cannot write the result of a reduce or merge task, which runs again a little later.
     *
     * @return a reason to fail the job, or null
     */
    @Nullable
    String resultUnwritten(Task task, Slot slot, String message, long nowNs) {
        task.attempts.removeIf(attempt -> attempt.slot == slot);
        if (task.isDone() || !task.attempts.isEmpty()) {
            return null;
        }
        task.state = State.PENDING;
        task.againReason = message;
        task.notBeforeNs = nowNs + PAUSE_NS;
        return ++task.unwritten > RESULT_UNWRITTEN_MAX
                ? "the result of the %s could not be written %d times: %s".formatted(task, task.unwritten, message)
                : null;
    }

    /**
     * A thread is lost with its worker, and all its results: the tasks run again.
     *
     * @return a reason to fail the job, or null
     */
    @Nullable
    String lose(Slot slot, String reason) {
        String failure = null;
        slots.remove(slot);
        slot.dirty = false;
        slot.runs.clear();
        for (Task task : tasks) {
            task.attempts.removeIf(attempt -> attempt.slot == slot);
            boolean lost = (task.state == State.DONE && task.owner == slot)
                    || (task.state == State.RUNNING && task.attempts.isEmpty());
            if (lost) {
                task.state = State.PENDING;
                task.owner = null;
                task.againReason = reason;
                if (++task.lost > LOST_MAX) {
                    failure = "the %s was lost %d times with its worker: %s".formatted(task, task.lost, reason);
                }
            }
        }
        return failure;
    }

    /**
     * Does without threads that hold accepted results, but do not come back: neither from a map task that is done elsewhere, nor from adding
     * and writing these results. Only a thread that has nothing to do asks for this, so there is one that can repeat their tasks.
     *
     * @return whether there was one
     * @throws MrException if a task was lost too often
     */
    boolean abandonStuck(Slot asking, long nowNs) {
        if (!maps.stream().allMatch(Task::isDone)) {
            return false;
        }
        boolean any = false;
        for (Slot slot : List.copyOf(slots)) {
            if (slot == asking || !slot.dirty) {
                continue;
            }
            List<Attempt> attempts = maps.stream()
                    .flatMap(task -> task.attempts.stream())
                    .filter(attempt -> attempt.slot == slot)
                    .toList();
            if (attempts.stream().anyMatch(attempt -> nowNs - attempt.startNs > 2 * timeoutNs(Kind.MAP))) {
                abandon(slot, "a thread of %s does not return from a task");
                any = true;
            } else if (attempts.isEmpty() && nowNs - slot.heardNs > silenceNs) {
                silenceNs *= 2; // It may only be slow: the thread that repeats its tasks has as much to write.
                abandon(slot, "a thread of %s does not write its results");
                any = true;
            }
        }
        return any;
    }

    private void abandon(Slot slot, String reason) {
        slot.abandoned = true;
        String failure = lose(slot, reason.formatted(slot.worker));
        slot.joined = true;
        if (failure != null) {
            throw new MrException(failure);
        }
    }

    @Override
    public String toString() {
        return Arrays.toString(
                tasks.stream().map(task -> task + " " + task.state).toArray());
    }
}
