package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/**
 * A wait for several words where the system call is refused: as in a container whose engine does not know the call. A thread of the
 * test has a seccomp filter of its own, which ends with it.
 */
class FutexWordsRefusedTest {
    private static final long PRCTL = System.getProperty("os.arch").equals("aarch64") ? 167 : 157;
    private static final long SET_SECCOMP = 22;
    private static final long SET_NO_NEW_PRIVILEGES = 38;
    private static final long MODE_FILTER = 2;

    private static final short LOAD_WORD = 0x20;
    private static final short JUMP_IF_EQUAL = 0x15;
    private static final short RETURN = 0x06;
    private static final int NUMBER_OF_CALL = 0;
    private static final int FAIL = 0x0005_0000;
    private static final int ALLOW = 0x7fff_0000;
    private static final int INSTRUCTION_BYTES = 8;
    private static final int INSTRUCTIONS = 4;

    /** One of the two branches of a jump: how many instructions to skip if the values differ. */
    private static final int SKIP_ONE_IF_DIFFERENT = 1 << 8;

    private record Seen(boolean supported, Futex.Wait ended) {}

    @Test
    void aWaitThatIsForbiddenIsNotSupportedAndSleepsOnOneWord() {
        for (int errno : new int[] {Errno.EPERM, Errno.ENOSYS}) {
            CompletableFuture<Seen> seen = new CompletableFuture<>();
            Thread unused = Thread.ofPlatform().start(() -> {
                try {
                    seen.complete(forbid(errno) ? look() : null);
                } catch (Throwable why) {
                    seen.completeExceptionally(why);
                }
            });
            Seen found = seen.orTimeout(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS)
                    .join();
            Assumptions.assumeTrue(found != null, "this system allows no seccomp filter");
            assertThat(found).isEqualTo(new Seen(false, Futex.Wait.TIMED_OUT));
        }
    }

    private static Seen look() {
        MemorySegment memory = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
        FutexWords words = new FutexWords();
        words.add(memory.address(), 0);
        words.add(memory.address() + Integer.BYTES, 0);
        return new Seen(FutexWords.isSupported(), words.await(1));
    }

    /** From now on the calling thread gets this error for a wait for several words. */
    private static boolean forbid(int errno) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment filter = arena.allocate((long) INSTRUCTIONS * INSTRUCTION_BYTES, Long.BYTES);
            instruction(filter, 0, LOAD_WORD, 0, NUMBER_OF_CALL);
            instruction(filter, 1, JUMP_IF_EQUAL, SKIP_ONE_IF_DIFFERENT, (int) Syscalls.FUTEX_WAITV);
            instruction(filter, 2, RETURN, 0, FAIL | errno);
            instruction(filter, 3, RETURN, 0, ALLOW);
            MemorySegment program = arena.allocate(2L * Long.BYTES, Long.BYTES);
            program.set(JAVA_SHORT, 0, (short) INSTRUCTIONS);
            program.set(JAVA_LONG, Long.BYTES, filter.address());
            CallState state = CallState.current();
            return Syscalls.syscall(state, PRCTL, SET_NO_NEW_PRIVILEGES, 1, 0, 0) == 0
                    && Syscalls.syscall(state, PRCTL, SET_SECCOMP, MODE_FILTER, program.address(), 0) == 0;
        }
    }

    private static void instruction(MemorySegment filter, int index, short code, int jumps, int operand) {
        long at = (long) index * INSTRUCTION_BYTES;
        filter.set(JAVA_SHORT, at, code);
        filter.set(JAVA_SHORT, at + Short.BYTES, (short) jumps);
        filter.set(JAVA_INT, at + 2 * Short.BYTES, operand);
    }
}
