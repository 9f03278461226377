package dev.lite.process;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.apache.coyote.Processor;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;

/**
 * Closes a connection whose request's headers take too long in all, however often a byte arrives. Tomcat calls it for each piece. A
 * connection on which nothing arrives is closed by Tomcat itself. Tomcat's threads.
 *
 * @param <S> the kind of socket
 */
final class HeaderTimeout<S> implements Handler<S> {
    private final Handler<S> next;
    private final LongSupplier timeoutNs;
    /** When the first piece of an unfinished header arrived. */
    private final Map<SocketWrapperBase<S>, Long> unfinished = new ConcurrentHashMap<>();

    /** @param timeoutNs for a whole header, in nanoseconds; not positive: no limit */
    HeaderTimeout(Handler<S> next, LongSupplier timeoutNs) {
        this.next = next;
        this.timeoutNs = timeoutNs;
    }

    @Override
    public SocketState process(SocketWrapperBase<S> socket, SocketEvent status) {
        SocketState state = next.process(socket, status);
        if (state != SocketState.LONG || isServed(socket)) {
            unfinished.remove(socket);
            return state;
        }
        long nowNs = System.nanoTime();
        Long sinceNs = unfinished.putIfAbsent(socket, nowNs);
        long limitNs = timeoutNs.getAsLong();
        if (sinceNs == null || limitNs <= 0 || nowNs - sinceNs < limitNs) {
            return state;
        }
        unfinished.remove(socket);
        return SocketState.CLOSED;
    }

    /** Whether the request was read and is answered by another thread, such as an event stream. */
    private static boolean isServed(SocketWrapperBase<?> socket) {
        return socket.getCurrentProcessor() instanceof Processor processor && processor.isAsync();
    }

    @Override
    public Object getGlobal() {
        return next.getGlobal();
    }

    @Override
    public void release(SocketWrapperBase<S> socket) {
        unfinished.remove(socket);
        next.release(socket);
    }

    @Override
    public void pause() {
        next.pause();
    }

    @Override
    public void recycle() {
        unfinished.clear();
        next.recycle();
    }
}
