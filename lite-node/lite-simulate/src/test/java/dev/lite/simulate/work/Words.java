package dev.lite.simulate.work;

import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Rule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A few LMRs with names that everybody reads and writes, and that are moved meanwhile:
 *
 * <ul>
 *   <li>registers: each is written by one thread in rising order; a read sees nothing older than the last write that had
 *       returned when it began, and nothing newer than the last that had begun when it ended. The value names its writer;
 *   <li>counters: what adds returned is all different, and the sum is as large as the known adds, but for those whose outcome
 *       nobody knows.
 * </ul>
 */
final class Words implements Part {
    private static final int LMRS = 3;
    private static final int COUNTERS = 2;
    private static final int REGISTERS = 1000;
    private static final int ASYNC_SECONDS = 20;
    private static final long BYTES = 8L * (COUNTERS + REGISTERS);
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};
    private static final Permission[] ALL = {Permission.READ, Permission.WRITE, Permission.ATOMIC, Permission.MASTER};

    private final Rule rule;
    private final boolean restless;
    private final boolean undisturbed;
    private final List<Shared> lmrs = new ArrayList<>();
    private final IdentityHashMap<App, Mapped> mapped = new IdentityHashMap<>();

    /** A shared LMR and what is known of it. */
    private static final class Shared {
        final String name;
        final long[] known = new long[COUNTERS];
        final long[] unknown = new long[COUNTERS];
        final List<Set<Long>> returned = new ArrayList<>();
        final long[] begun = new long[REGISTERS];
        final long[] done = new long[REGISTERS];
        int registers;

        Shared(String name) {
            this.name = name;
            for (int i = 0; i < COUNTERS; i++) {
                returned.add(new HashSet<>());
            }
        }
    }

    /** What an application has mapped. */
    private static final class Mapped {
        final @Nullable LmrHandle[] handles = new @Nullable LmrHandle[LMRS];
        final int[] register = {-1, -1, -1};
        final MemorySegment word = MemorySegment.ofArray(new long[1]);
    }

    Words(Cluster cluster) {
        this.rule = cluster.rule();
        this.restless = cluster.shape().mix() == Mix.RETURNS;
        this.undisturbed = cluster.shape().mix() == Mix.TRANSFERS;
        for (int i = 0; i < LMRS; i++) {
            lmrs.add(new Shared("words" + i));
        }
    }

    @Override
    public int weight(Mix mix) {
        return switch (mix) {
            case RETURNS, REMOVALS, TRANSFERS -> 8;
            case SESSIONS -> 4;
            default -> 1;
        };
    }

    @Override
    public void prepare(App first) {
        for (Shared lmr : lmrs) {
            Placement placement = first.random.nextInt(3) == 0 ? Placement.spread() : Placement.on(first.anyNode());
            first.lite
                    .memory()
                    .createOrMap(
                            LmrSpec.of(BYTES)
                                    .withName(lmr.name)
                                    .withPlacement(placement)
                                    .withDefaultPermissions(DATA),
                            DATA[0],
                            DATA);
        }
    }

    @Override
    public void step(App app) {
        Mapped mine = mapped.computeIfAbsent(app, key -> new Mapped());
        int number = app.random.nextInt(LMRS);
        Shared lmr = lmrs.get(number);
        LmrHandle handle = mine.handles[number];
        if (handle == null || app.random.nextInt(40) == 0) {
            handle = app.lite.memory().map(lmr.name, Permission.READ, ALL);
            mine.handles[number] = handle;
        }
        try {
            if (restless && app.random.nextInt(4) == 0) {
                handle.moveTo(app.anyNode());
                return;
            }
            switch (app.random.nextInt(12)) {
                case 0, 1, 2 -> add(app, lmr, handle);
                case 3, 4, 5, 6 -> read(app, lmr, handle, mine);
                case 7 -> {
                    if (!undisturbed) {
                        handle.moveTo(app.anyNode());
                    }
                }
                default -> write(lmr, number, handle, mine);
            }
        } catch (LiteException e) {
            mine.handles[number] = null;
            if (undisturbed) {
                rule.broken("a transfer fails although nothing breaks: " + e);
            }
            throw e;
        }
    }

    private void add(App app, Shared lmr, LmrHandle handle) {
        int counter = app.random.nextInt(COUNTERS);
        lmr.unknown[counter]++;
        long before = handle.fetchAdd(8L * counter, 1);
        lmr.unknown[counter]--;
        lmr.known[counter]++;
        if (!lmr.returned.get(counter).add(before)) {
            rule.broken("%s: two adds to counter %d returned %d".formatted(lmr.name, counter, before));
        }
    }

    private static long at(int register) {
        return 8L * (COUNTERS + register);
    }

    private static long value(int register, long sequence) {
        return (register + 1L) << 40 | sequence;
    }

    private void read(App app, Shared lmr, LmrHandle handle, Mapped mine) {
        if (lmr.registers == 0) {
            return;
        }
        int register = app.random.nextInt(lmr.registers);
        long oldest = lmr.done[register];
        if (app.random.nextInt(undisturbed ? 2 : 3) == 0) {
            MemorySegment word = MemorySegment.ofArray(new long[1]); // an unfinished read may still write into it
            if (awaitRead(handle.readAsync(at(register), word))) {
                check(lmr, register, oldest, word.get(ValueLayout.JAVA_LONG, 0));
            }
        } else {
            handle.read(at(register), mine.word);
            check(lmr, register, oldest, mine.word.get(ValueLayout.JAVA_LONG, 0));
        }
    }

    /** False when it failed; every asynchronous read must end. */
    private boolean awaitRead(CompletableFuture<?> read) {
        try {
            Object unused = read.get(ASYNC_SECONDS, TimeUnit.SECONDS);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (TimeoutException e) {
            rule.broken("an asynchronous read has not ended after %d s".formatted(ASYNC_SECONDS));
            return false;
        } catch (ExecutionException e) {
            if (undisturbed || !(e.getCause() instanceof LiteException)) {
                rule.broken("an asynchronous read failed with " + e.getCause());
            }
            return false;
        }
    }

    private void check(Shared lmr, int register, long oldest, long seen) {
        long newest = lmr.begun[register];
        long sequence = seen == 0 ? 0 : seen - value(register, 0);
        if (sequence < oldest || sequence > newest) {
            rule.broken("%s: register %d holds %x, which is number %d; it must be %d to %d"
                    .formatted(lmr.name, register, seen, sequence, oldest, newest));
        }
    }

    private void write(Shared lmr, int number, LmrHandle handle, Mapped mine) {
        if (mine.register[number] < 0) {
            if (lmr.registers == REGISTERS) {
                return;
            }
            mine.register[number] = lmr.registers++;
        }
        int register = mine.register[number];
        // Until it returned, it may be placed at any time, also over a later one: then the thread takes another
        // register.
        mine.register[number] = -1;
        long sequence = ++lmr.begun[register];
        mine.word.set(ValueLayout.JAVA_LONG, 0, value(register, sequence));
        handle.write(at(register), mine.word);
        lmr.done[register] = sequence;
        mine.register[number] = register;
    }

    @Override
    public void settle(App any) {
        for (Shared lmr : lmrs) {
            LmrHandle handle = any.lite.memory().map(lmr.name, Permission.READ, DATA);
            for (int counter = 0; counter < COUNTERS; counter++) {
                long value = handle.fetchAdd(8L * counter, 0);
                long known = lmr.known[counter];
                if (value < known || value > known + lmr.unknown[counter]) {
                    rule.broken("%s: counter %d is %d; %d adds are known and %d unknown"
                            .formatted(lmr.name, counter, value, known, lmr.unknown[counter]));
                }
            }
            MemorySegment word = MemorySegment.ofArray(new long[1]);
            for (int register = 0; register < lmr.registers; register++) {
                handle.read(at(register), word);
                check(lmr, register, lmr.done[register], word.get(ValueLayout.JAVA_LONG, 0));
            }
        }
    }

    @Override
    public void cleanUp(App any) {
        for (Shared lmr : lmrs) {
            try {
                any.lite.memory().map(lmr.name, Permission.READ, ALL).free();
            } catch (LmrNotFoundException | LmrFreedException e) {
                any.note(lmr.name + " is being freed already"); // by an attempt before, which failed half-way
            }
        }
    }
}
