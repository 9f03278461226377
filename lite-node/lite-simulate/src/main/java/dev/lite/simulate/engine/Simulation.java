package dev.lite.simulate.engine;

import dev.lite.simulate.hook.Hook;
import dev.lite.simulate.hook.World;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs virtual threads one at a time on the thread that calls {@link #run}. Which one runs, where it is switched and how long
 * everything takes comes from the seed; the clock is virtual and jumps when nothing can run.
 *
 * <p>It is a {@link ForkJoinPool} because the JDK asks only such a scheduler for the timers of its threads; every other one gets
 * timers of real time.
 *
 * <p>One thread at a time: the carrier, or the simulated thread that it carries. {@link #execute} also by the JVM's thread that
 * unblocks.
 */
public final class Simulation extends ForkJoinPool implements World {
    /** The virtual clock at the beginning. */
    public static final long START_NS = 1_000_000_000L;

    private static final long WALL_CLOCK_START_MS = 1_700_000_000_000L;
    private static final long CLOCK_READ_NS = 20;
    private static final long HELD_NS_MAX = Long.MAX_VALUE / 4;

    /** How a run ended. */
    public enum End {
        /** What was asked for happened. */
        DONE,
        /** No thread can run and no timer is left. */
        DEADLOCK,
        /** Too much virtual time passed. */
        TOO_LATE,
        /** Too many steps. */
        TOO_MANY_STEPS
    }

    private record Timer(long atNs, long number, Runnable action) {}

    private final Streams streams;
    private final Choices choices;
    private final Trace trace;
    private final SimulatedProcess world = new SimulatedProcess("world");
    private final List<Task> runnable = new ArrayList<>();
    private final List<Sleeper> sleepers = new ArrayList<>();
    private final Map<Long, Task> tasks = new HashMap<>(); // by the JDK's number of the thread
    private final Set<Task> waitingForMonitors = new LinkedHashSet<>();
    private final Queue<Runnable> unblocked = new ConcurrentLinkedQueue<>();
    private final PriorityQueue<Timer> timers =
            new PriorityQueue<>(Comparator.comparingLong(Timer::atNs).thenComparingLong(Timer::number));

    private @Nullable SimulatedProcess starting;
    private @Nullable Task current;
    private @Nullable Throwable failure;
    private int initializers;
    private int threads;
    private long timerNumber;
    private long nowNs = START_NS;
    private final AtomicLong steps = new AtomicLong();

    /** @param detail what {@link #lines} has */
    public Simulation(Streams streams, Detail detail) {
        this(streams, detail, false);
    }

    /** @param uniform whether threads are chosen and switched uniformly all the time */
    public Simulation(Streams streams, Detail detail, boolean uniform) {
        super(1);
        this.streams = streams;
        this.choices = new Choices(streams.stream("schedule"), uniform);
        this.trace = new Trace(detail);
    }

    /** The streams of this world's seed. */
    public Streams streams() {
        return streams;
    }

    // What the JDK calls.

    @Override
    public void execute(Runnable continuation) {
        Thread caller = Thread.currentThread();
        if (!caller.isVirtual() && !Hook.isCarrier(caller)) {
            unblocked.add(continuation);
            return;
        }
        Task task = find(JdkThreads.threadOf(continuation));
        if (task == null) {
            throw new IllegalStateException("a thread that this simulation did not make");
        }
        waitingForMonitors.remove(task);
        long untilNs = task.heldUntilNs;
        task.heldUntilNs = Task.NOW;
        if (untilNs == Task.NOW) {
            runnable.add(task);
        } else {
            timer(untilNs, () -> runnable.add(task));
        }
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
        Task task = current;
        long delayNs = unit.toNanos(delay);
        return new Pending(timer(at(task == null ? delayNs : task.process.worldNs(delayNs)), command));
    }

    private long at(long delayNs) {
        return nowNs + Math.min(delayNs, HELD_NS_MAX);
    }

    private Timer timer(long atNs, Runnable action) {
        Timer timer = new Timer(atNs, timerNumber++, action);
        timers.add(timer);
        return timer;
    }

    /** A timer that the JDK may cancel; it asks for nothing else. */
    private final class Pending implements ScheduledFuture<Object> {
        private final Timer timer;
        private boolean cancelled;

        Pending(Timer timer) {
            this.timer = timer;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(timer.atNs - nowNs, TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(getDelay(TimeUnit.NANOSECONDS), other.getDelay(TimeUnit.NANOSECONDS));
        }

        @Override
        public boolean cancel(boolean unused) {
            cancelled = true;
            return timers.remove(timer);
        }

        @Override
        public boolean isCancelled() {
            return cancelled;
        }

        @Override
        public boolean isDone() {
            return cancelled;
        }

        @Override
        public Object get() {
            throw new UnsupportedOperationException("a timer of the simulation has no result");
        }

        @Override
        public Object get(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException("a timer of the simulation has no result");
        }
    }

    // What rewritten code calls.

    /** A thread that sleeps on a word of memory. */
    private record Sleeper(long address, int bits, Thread thread) {}

    @Override
    public long nanoTime() {
        nowNs += CLOCK_READ_NS; // so that a loop that only reads the clock comes to its end
        Task task = current;
        return task == null ? nowNs : task.process.clockNs(nowNs);
    }

    @Override
    public long currentTimeMillis() {
        return WALL_CLOCK_START_MS + nanoTime() / 1_000_000;
    }

    @Override
    public void spinWait() {
        Task task = current;
        if (task != null && initializers == 0 && Thread.currentThread() == task.thread) {
            switchAway(task, choices.spinNs());
        }
    }

    @Override
    public void sleepOn(long address, int expected, int bits, long timeoutNs) {
        Task task = current;
        int now = MemorySegment.ofAddress(address).reinterpret(Integer.BYTES).get(ValueLayout.JAVA_INT, 0);
        if (task == null || now != expected) {
            return;
        }
        Sleeper sleeper = new Sleeper(address, bits, task.thread);
        sleepers.add(sleeper);
        LockSupport.parkNanos(timeoutNs);
        sleepers.remove(sleeper);
    }

    @Override
    public int wakeSleepers(long address, int bits) {
        List<Sleeper> woken = sleepers.stream()
                .filter(sleeper -> sleeper.address == address && (sleeper.bits & bits) != 0)
                .toList();
        sleepers.removeAll(woken);
        woken.forEach(sleeper -> LockSupport.unpark(sleeper.thread));
        return woken.size();
    }

    @Override
    public void yieldPoint() {
        Task task = current;
        if (task == null || initializers > 0 || Thread.currentThread() != task.thread || !choices.yields()) {
            return;
        }
        switchAway(task, choices.stallNs());
    }

    @SuppressWarnings("ThreadPriorityCheck") // no hint here: this scheduler decides what follows
    private void switchAway(Task task, long heldNs) {
        if (heldNs > 0) {
            task.heldUntilNs = nowNs + heldNs;
        }
        Thread.yield();
        task.heldUntilNs = Task.NOW;
    }

    private @Nullable Task find(Thread thread) {
        return tasks.get(thread.threadId());
    }

    @Override
    public void initializing(boolean begins) {
        initializers += begins ? 1 : -1;
    }

    @Override
    public Thread newThread(String name, boolean platform, Runnable task) {
        Task parent = current;
        SimulatedProcess process = starting != null ? starting : parent == null ? world : parent.process;
        Thread thread = JdkThreads.make(this, name, task);
        Task made = new Task(++threads, process, thread, platform);
        made.priority = choices.priority();
        tasks.put(thread.threadId(), made);
        return thread;
    }

    @Override
    public boolean isPlatform(Thread thread) {
        Task task = find(thread);
        return task != null && task.platform;
    }

    @Override
    public long threadId(Thread thread) {
        Task task = find(thread);
        return task == null ? thread.threadId() : task.id;
    }

    @Override
    public void later(long delayNs, Runnable task) {
        Thread thread = newThread("delayed", false, task);
        timer(at(delayNs), thread::start);
    }

    @Override
    public long nextRandom() {
        return choices.nextLong();
    }

    // What a history calls.

    /** Starts a thread of a process; the threads that it starts belong to the process, too. */
    public Thread start(SimulatedProcess process, String name, Runnable body) {
        return start(process, name, true, body);
    }

    /**
     * {@link #start(SimulatedProcess, String, Runnable)}.
     *
     * @param platform whether the code in it shall see a platform thread
     */
    public Thread start(SimulatedProcess process, String name, boolean platform, Runnable body) {
        starting = process;
        Thread thread;
        try {
            thread = newThread(name, platform, () -> {
                try {
                    body.run();
                } catch (RuntimeException | Error e) {
                    failure = e;
                }
            });
        } finally {
            starting = null;
        }
        thread.start();
        return thread;
    }

    /** Runs an action after a delay, between two steps. It must not block. */
    public void after(long delayNs, Runnable action) {
        timer(at(delayNs), action);
    }

    /** Runs an action at a virtual time. It must not block. */
    public void at(long atNs, Runnable action) {
        timer(Math.max(nowNs, atNs), action);
    }

    /** Stops all threads of a process for a while. */
    public void pause(SimulatedProcess process, long ns) {
        process.pauseUntil(nowNs + ns);
    }

    /** The virtual time of the world. */
    public long nowNs() {
        return nowNs;
    }

    /** How many steps were made; any thread. */
    public long steps() {
        return steps.get();
    }

    /** Notes an event of the history. */
    public void note(String what) {
        Task task = current;
        trace.note(nowNs, task == null ? what : task + ": " + what);
    }

    /** Adds a line to the history that is not compared between repetitions. */
    public void remark(String what) {
        trace.keep(nowNs, what);
    }

    /** The hash of everything that happened. */
    public long hash() {
        return trace.hash() * 31 + nowNs;
    }

    /** The history, if it was to be kept. */
    public List<String> lines() {
        return trace.lines();
    }

    /**
     * Carries out steps until a condition holds.
     *
     * @param untilNs the virtual time at which it must hold
     * @param stepsMax how many steps at most, in all
     */
    public End run(BooleanSupplier done, long untilNs, long stepsMax) {
        while (!done.getAsBoolean()) {
            if (failure != null) {
                throw new AssertionError("a thread of the history failed", failure);
            }
            if (steps.get() >= stepsMax) {
                return End.TOO_MANY_STEPS;
            }
            if (nowNs >= untilNs) {
                return End.TOO_LATE;
            }
            if (!waitingForMonitors.isEmpty() || !unblocked.isEmpty()) {
                settleMonitors();
            }
            for (Timer next = timers.peek(); next != null && next.atNs <= nowNs; next = timers.peek()) {
                fire();
            }
            if (!runnable.isEmpty()) {
                step();
            } else if (timers.isEmpty()) {
                return End.DEADLOCK;
            } else {
                fire();
            }
        }
        return End.DONE;
    }

    /**
     * Lets go of the threads that wait for a monitor, those of killed processes: the JVM keeps such a thread, and all that it
     * reaches, for as long as it waits. After the last step.
     */
    public void end() {
        runnable.clear();
        for (Task task : List.copyOf(tasks.values())) {
            if (JdkThreads.waitsForMonitor(task.thread)) {
                task.thread.interrupt();
            }
        }
        for (Task task : List.copyOf(runnable)) {
            current = task;
            task.continuation.run();
        }
        current = null;
    }

    private void fire() {
        Timer timer = timers.remove();
        nowNs = Math.max(nowNs, timer.atNs);
        timer.action.run();
    }

    private void step() {
        Task task = runnable.remove(choices.next(runnable));
        if (task.process.isDead()) {
            return;
        }
        if (task.process.pausedUntilNs() > nowNs) {
            timer(task.process.pausedUntilNs(), () -> runnable.add(task));
            return;
        }
        steps.incrementAndGet();
        nowNs += choices.stepNs();
        trace.step(nowNs, task);
        current = task;
        task.continuation.run();
        current = null;
        if (JdkThreads.waitsForMonitor(task.thread)) {
            waitingForMonitors.add(task);
        } else if (JdkThreads.isPinned(task.thread)) {
            throw new IllegalStateException("blocks the only carrier: " + task);
        } else if (!task.thread.isAlive()) {
            tasks.remove(task.thread.threadId());
        }
    }

    /**
     * Waits, in real time and briefly, until the JVM has handed back every thread that got its monitor in the last step; then
     * takes them in the order of their numbers.
     */
    private void settleMonitors() {
        // In this order: a thread leaves the JVM's list only after the hook counts it.
        while (waitingForMonitors.stream().anyMatch(task -> JdkThreads.isOnWaitingList(task.thread))
                || Hook.isUnblocking()) {
            Thread.onSpinWait();
        }
        List<Task> back = new ArrayList<>();
        for (Runnable next = unblocked.poll(); next != null; next = unblocked.poll()) {
            Task task = find(JdkThreads.threadOf(next));
            if (task != null) {
                back.add(task);
            }
        }
        back.sort(Comparator.comparingInt(task -> task.id));
        waitingForMonitors.removeAll(back);
        runnable.addAll(back);
    }

    /** Where the running thread stands; any thread, for a watchdog. */
    public List<StackTraceElement> currentStack() {
        Task task = current;
        return task == null ? List.of() : List.of(task.thread.getStackTrace());
    }

    /** Where every thread stands that has not ended, one line each. */
    public List<String> stacks() {
        List<String> lines = new ArrayList<>();
        tasks.values().stream()
                .filter(task -> !task.process.isDead() && task.thread.isAlive())
                .sorted(Comparator.comparingInt(task -> task.id))
                .forEach(task -> lines.add(task + ": " + frames(task.thread)));
        return lines;
    }

    private static String frames(Thread thread) {
        StringBuilder text = new StringBuilder();
        int shown = 0;
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getClassName().startsWith("dev.lite.") && shown++ < 8) {
                text.append(frame.getClassName().replaceAll(".*\\.", ""))
                        .append('.')
                        .append(frame.getMethodName())
                        .append(':')
                        .append(frame.getLineNumber())
                        .append(' ');
            }
        }
        return text.toString();
    }
}
