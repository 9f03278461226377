package dev.lite.os;

import dev.lite.os.waiting.Unrecoverable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Accepts connections on a listening socket until it is stopped, whatever fails for one of them. One thread runs it; any
 * thread stops it.
 *
 * @param <S> an accepted socket
 */
public final class AcceptLoop<S extends Pollable> implements Runnable {
    private static final long PAUSE_MS = 100;

    private final Supplier<S> accept;
    private final Consumer<S> accepted;
    private final Consumer<Throwable> trouble;
    private final CountDownLatch stopping = new CountDownLatch(1);

    /**
     * @param accept blocks for the next socket; throws {@link OsException} with EBADF or EINVAL once the listening socket is closed
     * @param accepted takes ownership of the socket; if it fails, the loop closes the socket. Must not block for long
     * @param trouble logs a failure, after which the loop pauses
     */
    public AcceptLoop(Supplier<S> accept, Consumer<S> accepted, Consumer<Throwable> trouble) {
        this.accept = accept;
        this.accepted = accepted;
        this.trouble = trouble;
    }

    @Override
    public void run() {
        while (stopping.getCount() > 0) {
            S socket = null;
            try {
                socket = accept.get();
                accepted.accept(socket);
            } catch (RuntimeException | Error e) { // such as: no memory for another thread
                Unrecoverable.report(e);
                if ((socket == null && isClosed(e)) || !pauseAfter(e, socket)) {
                    return;
                }
            }
        }
    }

    private static boolean isClosed(Throwable e) {
        return e instanceof OsException os && (os.errno() == Errno.EBADF || os.errno() == Errno.EINVAL);
    }

    /** Pauses, because the process is probably out of descriptors or memory; peers wait meanwhile. Returns whether to continue. */
    private boolean pauseAfter(Throwable e, @Nullable S socket) {
        try {
            if (socket != null) {
                socket.close(); // its peer waits
            }
            trouble.accept(e);
        } catch (RuntimeException | Error another) { // such as: no memory for the line of the log
            Unrecoverable.report(another);
        }
        try {
            return !stopping.await(PAUSE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            return false;
        }
    }

    /** Ends the loop; the caller closes the listening socket next. Idempotent. */
    public void stop() {
        stopping.countDown();
    }
}
