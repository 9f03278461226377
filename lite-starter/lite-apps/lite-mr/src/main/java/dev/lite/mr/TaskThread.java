package dev.lite.mr;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.mr.data.UnwrittenException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** One thread of a worker: pulls tasks, executes them, and reports. Its own thread runs it; others call only the marked methods. */
final class TaskThread implements Runnable {
    private static final int NO_TASK = -1;
    /** Of the reason of a failure, in characters: so that it fits into a message, whatever the job throws. */
    private static final int REASON_MAX = 4096;

    private final MrWorker worker;
    private final int number;
    private final Execution.Tables tables = new Execution.Tables();
    private @Nullable Execution execution;
    private volatile @Nullable Watched watched;

    TaskThread(MrWorker worker, int number) {
        this.worker = worker;
        this.number = number;
    }

    /** A task under way, and the master's board, which says whether it is still wanted. */
    private record Watched(AtomicBoolean cancelled, LmrHandle board, int task) {
        boolean isObsolete() {
            return board.getLong(0) != 0 || (task >= 0 && board.getLong((1L + task) * Long.BYTES) != 0);
        }
    }

    /** Any thread: cancels the task under way, if there is one. */
    void cancel() {
        Watched now = watched;
        if (now != null) {
            now.cancelled.set(true);
        }
    }

    /** Any thread: cancels the task under way if it was done elsewhere, or the job has ended. */
    void checkBoard() {
        Watched now = watched;
        try {
            if (now != null && now.isObsolete()) {
                now.cancelled.set(true);
            }
        } catch (LiteException e) {
            // The board is gone with the job or the master, which the task's report shows.
        }
    }

    @Override
    public void run() {
        MrWorker.Registration registration = worker.awaitRegistration();
        while (registration != null) {
            try {
                while (worker.isCurrent(registration)) {
                    step(registration);
                }
            } catch (RuntimeException | Error e) {
                // The master is lost, or there is no memory, or this thread has a defect: the worker registers
                // again, and its tasks run again. Without this thread, it would live and take no tasks.
                worker.lost(registration);
            } finally {
                release();
            }
            registration = worker.awaitRegistration();
        }
    }

    private Wire.Out ask(Wire.Ask ask, MrWorker.Registration registration) {
        return new Wire.Out(ask).number(registration.id()).number(number);
    }

    private void step(MrWorker.Registration registration) {
        Wire.In order = registration.call(ask(Wire.Ask.NEXT, registration), "a question");
        Wire.Order kind = order.kind(Wire.Order.class);
        long job = order.number();
        List<Integer> toFree = order.integers();
        Execution now = execution;
        if (now != null) {
            toFree.forEach(now::free);
        }
        switch (kind) {
            case WAIT -> {}
            case RELEASE -> {
                release();
                registration.call(ask(Wire.Ask.RELEASED, registration), "a release");
            }
            case FINISH -> execute(registration, job, kind, NO_TASK, order);
            case MAP, REDUCE, MERGE -> execute(registration, job, kind, order.integer(), order);
        }
    }

    private void execute(MrWorker.Registration registration, long job, Wire.Order kind, int task, Wire.In order) {
        Wire.Failure failure = Wire.Failure.JOB;
        String message;
        @Nullable LiteException unwritten = null;
        int blamed = task;
        try {
            Execution current = begin(registration, job);
            watched = new Watched(current.start(), current.board(), task);
            Execution.Done done = switch (kind) {
                case MAP -> current.map(order.integer(), order.number(), order.number(), input(order));
                case REDUCE -> current.reduce(task, order.runs());
                case MERGE -> current.merge(task, order.runs());
                default -> current.finish();
            };
            boolean accepted = report(registration, job, task, current, done);
            if (kind == Wire.Order.MAP && accepted) {
                blamed = NO_TASK; // The master counts on its pairs now.
                current.keep();
            }
            return;
        } catch (Execution.CancelledException e) {
            return;
        } catch (MrWorker.MasterLostException e) {
            throw e;
        } catch (LimitExceededException e) {
            failure = Wire.Failure.NO_MEMORY;
            message = "%s has too little memory for its results: %s".formatted(worker.name(), e.getMessage());
        } catch (UnwrittenException | LiteException e) {
            LiteException reason = e instanceof UnwrittenException wrapped ? wrapped.reason() : (LiteException) e;
            if (reason.code() == LiteException.Code.SESSION_LOST) {
                throw new MrWorker.MasterLostException(reason); // its own results are lost
            }
            boolean writing = e instanceof UnwrittenException || blamed == NO_TASK;
            if (writing && Losses.isLoss(reason)) {
                unwritten = blamed == NO_TASK ? reason : null;
                failure = Wire.Failure.UNWRITTEN;
                message = "%s cannot write its results: %s".formatted(worker.name(), reason.getMessage());
            } else {
                failure = Losses.isLoss(reason) ? Wire.Failure.INPUT_LOST : Wire.Failure.JOB;
                message = "%s: %s".formatted(worker.name(), reason.getMessage());
            }
        } catch (MrException e) {
            message = "%s: %s".formatted(worker.name(), e.getMessage());
        } catch (Throwable e) { // also an Error: without this thread the task would never end
            message = "%s: %s failed: %s".formatted(worker.name(), kind.name().toLowerCase(Locale.ROOT), e);
        } finally {
            watched = null;
        }
        Wire.Out out = ask(Wire.Ask.FAILED, registration).number(job).number(blamed);
        registration.call(out.kind(failure).text(shortened(message)), "the reason of a failure");
        if (unwritten != null) {
            throw new MrWorker.MasterLostException(unwritten); // its own results are lost
        }
    }

    private static String shortened(String message) {
        return message.length() <= REASON_MAX ? message : message.substring(0, REASON_MAX) + "…";
    }

    private static Input input(Wire.In order) {
        boolean isFile = order.number() == 0;
        String name = order.text();
        return isFile ? new Input.File(java.nio.file.Path.of(name)) : new Input.Lmr(name);
    }

    /** Reports a result, and returns whether the master accepts it; else it is freed. */
    private boolean report(
            MrWorker.Registration registration, long job, int task, Execution current, Execution.Done done) {
        Wire.Out out = ask(Wire.Ask.DONE, registration).number(job).number(task);
        out.numbers(done.counters()).numbers(done.partitions()).runs(done.runs());
        boolean accepted = registration.call(out, "the report of a task").number() != 0;
        if (!accepted && task >= 0) {
            current.free(task);
        }
        return accepted;
    }

    /** The execution of this job; starts it at the job's first task. */
    private Execution begin(MrWorker.Registration registration, long job) {
        Execution current = execution;
        if (current != null && current.number() == job) {
            return current;
        }
        release();
        Wire.In in = registration.call(new Wire.Out(Wire.Ask.JOB).number(job), "a question");
        String type = in.text();
        RecordFormat format = new RecordFormat(in.number(), in.integer());
        int partitions = in.integer();
        LmrHandle board = worker.lite().memory().map(in.number(), Permission.READ);
        boolean begun = false;
        try {
            Execution started = Execution.start(worker, job, type, format, partitions, board, in.texts(), tables);
            execution = started;
            begun = true;
            return started;
        } finally {
            if (!begun) {
                board.unmap();
            }
        }
    }

    private void release() {
        Execution former = execution;
        execution = null;
        watched = null;
        if (former != null) {
            former.close();
        }
    }
}
