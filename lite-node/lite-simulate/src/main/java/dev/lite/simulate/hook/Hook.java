package dev.lite.simulate.hook;

import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Rewritten code calls these methods in place of the JDK's. Threads that do not belong to the installed {@link World} get what
 * the JDK does.
 */
public final class Hook {
    /** Which way immutable sets and maps are walked through while no world is installed. */
    private static final long SALT_OUTSIDE = 0x5151_5151L;

    private static volatile @Nullable World world;
    private static volatile @Nullable Thread carrier;
    private static volatile long salt = SALT_OUTSIDE;

    /** Threads that the JVM's unblocker took from its list and has not handed to the scheduler yet. */
    private static final AtomicInteger UNBLOCKING = new AtomicInteger();

    private Hook() {}

    /** From now on every virtual thread, and the calling thread as their carrier, belong to this world. */
    public static void install(World newWorld, long newSalt) {
        UNBLOCKING.set(0);
        carrier = Thread.currentThread();
        salt = newSalt & 0xFFFF_FFFFL;
        world = newWorld;
    }

    /** Ends the world. */
    public static void uninstall() {
        world = null;
        carrier = null;
        salt = SALT_OUTSIDE;
    }

    /** Whether this thread carries the simulated ones. */
    public static boolean isCarrier(Thread thread) {
        return thread == carrier;
    }

    private static @Nullable World mine() {
        World current = world;
        if (current == null) {
            return null;
        }
        Thread thread = Thread.currentThread();
        return thread.isVirtual() || thread == carrier ? current : null;
    }

    /** {@link System#nanoTime}. */
    public static long nanoTime() {
        World mine = mine();
        return mine == null ? System.nanoTime() : mine.nanoTime();
    }

    /** {@link System#currentTimeMillis}. */
    public static long currentTimeMillis() {
        World mine = mine();
        return mine == null ? System.currentTimeMillis() : mine.currentTimeMillis();
    }

    /** {@link Thread#onSpinWait}. */
    public static void onSpinWait() {
        World mine = mine();
        if (mine == null) {
            Thread.onSpinWait();
        } else {
            mine.spinWait();
        }
    }

    /** {@code Futex.awaitBits}; returns at once without a world. */
    public static void sleepOn(long address, int expected, int bits, long timeoutNs) {
        World mine = mine();
        if (mine != null) {
            mine.sleepOn(address, expected, bits, timeoutNs);
        }
    }

    /** {@code Futex.wakeBits}. */
    public static int wakeSleepers(long address, int bits) {
        World mine = mine();
        return mine == null ? 0 : mine.wakeSleepers(address, bits);
    }

    /** {@link Thread#isVirtual}, as the code that made the thread meant it. */
    public static boolean isVirtual(Thread thread) {
        World mine = mine();
        return thread.isVirtual() && (mine == null || !mine.isPlatform(thread));
    }

    /** {@link Thread#threadId}. */
    public static long threadId(Thread thread) {
        World mine = mine();
        return mine == null ? thread.threadId() : mine.threadId(thread);
    }

    /** {@link CompletableFuture#delayedExecutor(long, TimeUnit, Executor)}. */
    public static Executor delayedExecutor(long delay, TimeUnit unit, Executor executor) {
        World mine = mine();
        return mine == null
                ? CompletableFuture.delayedExecutor(delay, unit, executor)
                : task -> mine.later(unit.toNanos(delay), () -> executor.execute(task));
    }

    /** {@link UUID#randomUUID}. */
    public static UUID randomUuid() {
        World mine = mine();
        return mine == null ? UUID.randomUUID() : new UUID(mine.nextRandom(), mine.nextRandom());
    }

    /** A random generator of the JDK was asked for 64 bits. */
    public static long nextLong(java.util.Random random) {
        World mine = mine();
        return mine == null ? random.nextLong() : mine.nextRandom();
    }

    /** A random generator of the JDK was asked for a number below a bound. */
    public static long nextLong(java.util.Random random, long bound) {
        World mine = mine();
        return mine == null ? random.nextLong(bound) : Long.remainderUnsigned(mine.nextRandom(), bound);
    }

    /** A random generator of the JDK was asked for a number below a bound. */
    public static int nextInt(java.util.Random random, int bound) {
        World mine = mine();
        return mine == null ? random.nextInt(bound) : (int) Long.remainderUnsigned(mine.nextRandom(), bound);
    }

    /** In code of the tier, around each access to what threads share. */
    public static void yieldPoint() {
        World mine = mine();
        if (mine != null) {
            mine.yieldPoint();
        }
    }

    /** A class initializer of the tier begins. */
    public static void beginInitializer() {
        World mine = mine();
        if (mine != null) {
            mine.initializing(true);
        }
    }

    /** A class initializer of the tier ends. */
    public static void endInitializer() {
        World mine = mine();
        if (mine != null) {
            mine.initializing(false);
        }
    }

    /** Called where the JDK makes a platform thread; null lets it do so. */
    public static @Nullable Thread newPlatformThread(@Nullable String name, Runnable task) {
        return newThread(name, true, task);
    }

    /** Called where the JDK makes a virtual thread; null lets it do so. */
    public static @Nullable Thread newVirtualThread(@Nullable String name, Runnable task) {
        return newThread(name, false, task);
    }

    private static @Nullable Thread newThread(@Nullable String name, boolean platform, Runnable task) {
        World mine = mine();
        return mine == null ? null : mine.newThread(name == null ? "" : name, platform, task);
    }

    /** The JVM's unblocker takes a thread from its list. */
    public static void beginUnblock() {
        if (world != null) {
            UNBLOCKING.incrementAndGet();
        }
    }

    /** The JVM's unblocker has handed a thread to its scheduler. */
    public static void endUnblock() {
        if (world != null) {
            UNBLOCKING.decrementAndGet();
        }
    }

    /** Whether the JVM's unblocker has a thread in hand. */
    public static boolean isUnblocking() {
        return UNBLOCKING.get() != 0;
    }

    /** Where the iterators of immutable sets and maps begin; the JDK draws it anew in each JVM. */
    public static long salt() {
        return salt;
    }

    /** Whether they go backwards. */
    public static boolean isReverse() {
        return (salt & 1) == 0;
    }
}
