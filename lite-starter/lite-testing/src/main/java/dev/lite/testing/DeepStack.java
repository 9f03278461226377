package dev.lite.testing;

/** Threads whose stacks are nearly full. */
public final class DeepStack {
    /** Enough for some thousand frames, which are filled quickly. */
    private static final long STACK_BYTES = 512 << 10;

    private DeepStack() {}

    /** {@link #start}, and waits for the end of the thread. */
    public static void run(int frames, Runnable task) {
        Waits.join(start(frames, task));
    }

    /**
     * Starts a thread that runs a task. A stack overflow ends the task.
     *
     * @param frames how many frames of a recursion, of about a hundred bytes each, the stack has room for
     */
    public static Thread start(int frames, Runnable task) {
        return Thread.ofPlatform().daemon().stackSize(STACK_BYTES).start(() -> {
            int unused = descend(0, frames, task);
        });
    }

    /** Returns in how many frames above this one the task runs; negative: it has run. */
    private static int descend(int depth, int frames, Runnable task) {
        int left = frames;
        if (depth < Integer.MAX_VALUE) {
            try {
                left = descend(depth + 1, frames, task);
            } catch (StackOverflowError e) {
                return frames;
            }
        }
        if (left == 0) {
            runHere(task);
        }
        return left - 1;
    }

    private static void runHere(Runnable task) {
        try {
            task.run();
        } catch (StackOverflowError e) {
            // as intended
        }
    }
}
