package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.RpcClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A worker: finds the master of its group, now and whenever that was lost, and executes tasks on threads of its own. Job classes come
 * from the context class loader of the thread that starts it.
 *
 * <p>The caller owns the session, and closes it after the worker. Any thread.
 */
public final class MrWorker implements AutoCloseable {
    private static final Duration CALL = Duration.ofSeconds(10);
    private static final long INTERVAL_MS = 100;
    private static final Duration END = Duration.ofSeconds(10);

    private final Lite lite;
    /** Asked for once: each stage that a session gives stays in its memory until it ends. */
    private final CompletableFuture<String> ended;

    private final WorkerOptions options;
    private final RpcClient anyMaster;
    private final @Nullable ClassLoader loader;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final List<TaskThread> tasks = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final Thread lifeThread;
    private @Nullable Registration registration;
    private boolean closed;

    private MrWorker(Lite lite, WorkerOptions options) {
        this.lite = lite;
        ended = lite.ended().toCompletableFuture();
        this.options = options;
        anyMaster = lite.rpc().bindAny(MapReduce.function(options.group()));
        loader = Thread.currentThread().getContextClassLoader();
        lifeThread = Thread.ofPlatform().daemon().name("mr life").unstarted(this::live);
        for (int i = 0; i < options.threads(); i++) {
            TaskThread task = new TaskThread(this, i);
            tasks.add(task);
            threads.add(Thread.ofPlatform().daemon().name("mr task " + i).unstarted(task));
        }
    }

    /** Starts a worker. It returns at once, also if there is no master yet. */
    public static MrWorker start(Lite lite, WorkerOptions options) {
        MrWorker worker = new MrWorker(lite, options);
        worker.lifeThread.start();
        worker.threads.forEach(Thread::start);
        return worker;
    }

    /**
     * What the worker has with one master.
     *
     * @param id its number at the master
     * @param life the word that it increments
     * @param master calls the master
     */
    record Registration(long id, LmrHandle life, RpcClient master) {
        /** Calls the master, and wraps what fails. */
        Wire.In call(Wire.Out request, String what) {
            byte[] bytes = request.toBytes(what);
            try {
                return new Wire.In(master.call(bytes, CALL));
            } catch (LiteException e) {
                throw new MasterLostException(e);
            }
        }
    }

    /** The master did not answer, or does not know this worker any more; or the worker has lost its own results. */
    static final class MasterLostException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        MasterLostException(LiteException cause) {
            super(cause.getMessage(), cause);
        }
    }

    Lite lite() {
        return lite;
    }

    String name() {
        return options.name();
    }

    @Nullable
    ClassLoader loader() {
        return loader;
    }

    /** Waits until the worker is registered; null when it is closed. */
    @Nullable
    Registration awaitRegistration() {
        lock.lock();
        try {
            while (registration == null && !closed) {
                changed.awaitUninterruptibly();
            }
            return closed ? null : registration;
        } finally {
            lock.unlock();
        }
    }

    boolean isCurrent(Registration asked) {
        lock.lock();
        try {
            return asked.equals(registration) && !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Gives up a registration; the worker registers again, at this or the next master. */
    void lost(Registration given) {
        lock.lock();
        try {
            if (!given.equals(registration)) {
                return;
            }
            registration = null;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        tasks.forEach(TaskThread::cancel);
        free(given.life());
    }

    private static void free(LmrHandle lmr) {
        try {
            lmr.free();
        } catch (LiteException e) {
            // The session has ended, and with it the LMR.
        }
    }

    private void live() {
        long beats = 0;
        while (pause()) {
            Registration mine = registration();
            if (mine == null) {
                register();
                continue;
            }
            try {
                mine.life().putLong(0, ++beats);
                tasks.forEach(TaskThread::checkBoard);
            } catch (RuntimeException | Error e) { // also an Error: nobody else would register this worker again
                lost(mine);
            }
        }
    }

    private @Nullable Registration registration() {
        lock.lock();
        try {
            return registration;
        } finally {
            lock.unlock();
        }
    }

    /** Returns false when the worker is closed, or its session has ended for ever. */
    private boolean pause() {
        if (ended.isDone()) {
            stop();
            return false;
        }
        lock.lock();
        try {
            long leftNs = TimeUnit.MILLISECONDS.toNanos(INTERVAL_MS);
            while (!closed && leftNs > 0) {
                leftNs = changed.awaitNanos(leftNs);
            }
            return !closed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    private void register() {
        LmrHandle life = null;
        try {
            life = lite.memory().malloc(LmrSpec.of(Long.BYTES).withDefaultPermissions(Permission.READ));
            byte[] request = new Wire.Out(Wire.Ask.REGISTER)
                    .text(options.name())
                    .text(lite.nodeName())
                    .number(options.threads())
                    .number(life.id())
                    .toBytes("a registration");
            Wire.In reply = new Wire.In(anyMaster.call(request, CALL));
            long id = reply.number();
            RpcClient master = lite.rpc().bind(reply.text(), MapReduce.function(options.group()));
            lock.lock();
            try {
                if (!closed) { // else the master sees that the worker's word is freed
                    registration = new Registration(id, life, master);
                    life = null;
                    changed.signalAll();
                }
            } finally {
                lock.unlock();
            }
        } catch (RuntimeException | Error e) {
            // There is no master now, or no node, or no memory: the next attempt comes soon.
        } finally {
            if (life != null) {
                free(life);
            }
        }
    }

    /** Whether it is registered at a master. */
    public boolean isRegistered() {
        return registration() != null;
    }

    /** Waits until the worker has ended: by {@link #close}, or with its session. */
    public void join() {
        boolean interrupted = false;
        while (lifeThread.isAlive() && !interrupted) {
            try {
                lifeThread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                interrupted = true;
            }
        }
    }

    private void stop() {
        Registration mine;
        lock.lock();
        try {
            closed = true;
            mine = registration;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (mine != null) {
            lost(mine);
        }
        tasks.forEach(TaskThread::cancel);
    }

    /** Ends the worker: the master runs its tasks elsewhere. Waits at most 10 s for tasks under way. A second call does nothing. */
    @Override
    public void close() {
        stop();
        long endNs = System.nanoTime() + END.toNanos();
        for (Thread thread : threads) {
            try {
                if (!thread.join(Duration.ofNanos(Math.max(1, endNs - System.nanoTime())))) {
                    return; // It does not return from the job's code; the end of the session frees what it has.
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}
