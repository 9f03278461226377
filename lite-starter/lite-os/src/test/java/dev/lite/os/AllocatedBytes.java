package dev.lite.os;

import com.sun.management.ThreadMXBean;
import dev.lite.testing.Waits;
import java.lang.management.ManagementFactory;

/**
 * How much a loop allocates on the heap, in a JVM of its own. Which objects the JIT compiler removes depends on what it has compiled
 * before. In a JVM with other tests, one object may stay for ever.
 */
final class AllocatedBytes {
    private static final int JVMS = 3;

    private AllocatedBytes() {}

    /**
     * The least bytes of one run of a loop; in the best of up to three JVMs.
     *
     * @param main calls {@link #print} with its arguments
     * @param enough a loop that allocates less than this is not tried again
     */
    static long least(Class<?> main, long enough) {
        long least = Long.MAX_VALUE;
        for (int count = 0; count < JVMS && least >= enough; count++) {
            String ns = Long.toString(Waits.seconds(7).toNanos());
            try (ChildJvm child = ChildJvm.startOptimizing(main, ns, Long.toString(enough))) {
                least = Math.min(least, Long.parseLong(child.line()));
            }
        }
        return least;
    }

    /** In the other JVM: repeats the loop until the JIT compiler is done, and prints the least that it allocated. */
    static void print(String[] arguments, Runnable loop) {
        long deadlineNs = System.nanoTime() + Long.parseLong(arguments[0]);
        long enough = Long.parseLong(arguments[1]);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        while (least >= enough && System.nanoTime() - deadlineNs < 0) {
            long before = threads.getCurrentThreadAllocatedBytes();
            loop.run();
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        System.out.println(least);
    }
}
