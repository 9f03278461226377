package dev.lite.process;

import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;
import org.apache.coyote.ActionCode;

/**
 * Reads the rest of the bodies of refused requests, so that their clients find the answer. A client may send it slowly, or never. So at
 * most {@value #READERS_MAX} threads read, each for a limited time; the connections of further ones are closed at once.
 */
final class UnreadBodies extends ValveBase {
    private static final int READERS_MAX = 4;
    private static final long READ_NS_MAX = TimeUnit.SECONDS.toNanos(2);
    private static final int PIECE_BYTES = 8192;

    private final Semaphore readers = new Semaphore(READERS_MAX);

    UnreadBodies() {
        super(true);
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
        getNext().invoke(request, response);
        if (response.getStatus() >= HttpServletResponse.SC_BAD_REQUEST && isUnread(request) && !readRest(request)) {
            request.getCoyoteRequest().action(ActionCode.DISABLE_SWALLOW_INPUT, null);
        }
    }

    private static boolean isUnread(Request request) {
        long length = request.getContentLengthLong();
        return length > 0
                ? request.getCoyoteRequest().getBytesRead() < length
                : request.getHeader("Transfer-Encoding") != null;
    }

    private boolean readRest(Request request) {
        if (!readers.tryAcquire()) {
            return false;
        }
        try {
            ServletInputStream body = request.getInputStream();
            byte[] piece = new byte[PIECE_BYTES];
            for (long beginNs = System.nanoTime(); System.nanoTime() - beginNs < READ_NS_MAX; ) {
                if (body.read(piece) < 0) {
                    return true;
                }
            }
        } catch (IOException | IllegalStateException late) {
            return false;
        } finally {
            readers.release();
        }
        return false;
    }
}
