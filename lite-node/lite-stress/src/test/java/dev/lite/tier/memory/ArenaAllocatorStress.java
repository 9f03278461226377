package dev.lite.tier.memory;

import dev.lite.api.LimitExceededException;
import dev.lite.os.RawMemory;
import java.nio.file.Path;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Two threads allocate and free the last few KiB of an arena, in chunks of different lengths; one of them also cleans what was
 * freed. The first two results say how their allocations went, the third whether all memory is free in the end.
 */
@JCStressTest
@Outcome(
        id = "[01], [01], 1",
        expect = Expect.ACCEPTABLE,
        desc = "Each got clean memory of its own or none, and all of it is free again.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc = "Memory was not clean (8), had two owners (9), could not be freed (7), or was lost (the third is 0).")
@State
public class ArenaAllocatorStress {
    private static final long OTHERS = 99;
    private static final int PAGE_BYTES = 4096;
    private static final int PAGES_LEFT = 3;

    /** One arena for all states: each of them frees what it takes. */
    private static final NodeArena ARENA = NodeArena.open(new ArenaConfig(
            Path.of(System.getProperty("java.io.tmpdir")),
            "stress",
            "n",
            ArenaConfig.BYTES_MIN,
            256,
            4,
            ArenaConfig.Kept.NEVER));

    private static final ArenaAllocator ALLOCATOR = new ArenaAllocator(ARENA, "n");
    private static final long FREE_BYTES = fill();

    private static long fill() {
        List<ExtentRun> unused =
                ALLOCATOR.allocate(OTHERS, PAGE_BYTES, ALLOCATOR.dataBytes() / PAGE_BYTES - PAGES_LEFT, 1);
        return ALLOCATOR.freeBytes();
    }

    private static int use(long owner, int bytes, int count) {
        List<ExtentRun> runs;
        try {
            runs = ALLOCATOR.allocate(owner, bytes, count, 2);
        } catch (LimitExceededException e) {
            return 0; // the other thread has the memory
        }
        int result = 1;
        for (ExtentRun run : runs) {
            result = Math.max(result, holdsOnly(run, 0) ? 1 : 8);
            set(run, owner);
        }
        for (ExtentRun run : runs) {
            result = Math.max(result, holdsOnly(run, owner) ? 1 : 9);
            boolean freed = ALLOCATOR.free(owner, run);
            result = Math.max(result, freed ? 1 : 7);
        }
        return result;
    }

    private static boolean holdsOnly(ExtentRun run, long value) {
        for (long at = 0; at < run.length(); at += Long.BYTES) {
            if (RawMemory.getLong(ARENA.address() + run.offset() + at) != value) {
                return false;
            }
        }
        return true;
    }

    private static void set(ExtentRun run, long value) {
        for (long at = 0; at < run.length(); at += Long.BYTES) {
            RawMemory.putLong(ARENA.address() + run.offset() + at, value);
        }
    }

    /** Takes whole pages. */
    @Actor
    public void pages(III_Result result) {
        result.r1 = use(1, PAGE_BYTES, 2);
    }

    /** Takes short chunks, which split pages; then cleans, as the background thread does. */
    @Actor
    public void shortChunks(III_Result result) {
        result.r2 = use(2, 1000, 5);
        long unused = ALLOCATOR.clean();
    }

    /** Nothing is lost. */
    @Arbiter
    public void check(III_Result result) {
        result.r3 = ALLOCATOR.freeBytes() == FREE_BYTES ? 1 : 0;
    }
}
