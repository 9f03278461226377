package dev.lite.process;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;
import org.apache.coyote.ActionCode;
import org.apache.tomcat.util.net.ApplicationBufferHandler;

/**
 * Reads the rest of the bodies of refused requests, so that their clients find the answer. A client may send it slowly, or never. So at
 * most {@value #READERS_MAX} threads read, each for a limited time; the connections of further ones are closed at once.
 *
 * <p>Requests that only read have no body. One with a body is refused: Spring's Actuator would read it, also that of a
 * probe, which needs no token, and a thread would wait for it as long as the client likes.
 */
final class UnreadBodies extends ValveBase {
    private static final int READERS_MAX = 4;
    private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS", "TRACE");
    private static final String REFUSAL =
            "{\"title\":\"Bad Request\",\"status\":400,\"detail\":\"the request only reads, so it must have no body\"}";

    private static final long READ_NS_MAX = TimeUnit.SECONDS.toNanos(2);

    private final Semaphore readers = new Semaphore(READERS_MAX);

    UnreadBodies() {
        super(true);
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
        if (READING.contains(request.getMethod()) && isUnread(request)) {
            response.setStatus(HttpServletResponse.SC_BAD_REQUEST);
            response.setContentType("application/problem+json");
            response.getWriter().write(REFUSAL);
        } else {
            getNext().invoke(request, response);
        }
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

    /** Takes a piece of a body, of which nobody needs the content. */
    private static final class Dropped implements ApplicationBufferHandler {
        private ByteBuffer piece = ByteBuffer.allocate(0);

        @Override
        public void setByteBuffer(ByteBuffer buffer) {
            piece = buffer;
        }

        @Override
        public ByteBuffer getByteBuffer() {
            return piece;
        }

        @Override
        public void expand(int size) {
            // Tomcat passes its own buffer.
        }
    }

    private boolean readRest(Request request) {
        if (!readers.tryAcquire()) {
            return false;
        }
        try {
            // Not by the stream of the servlet, which is closed once an error page has answered.
            Dropped piece = new Dropped();
            for (long beginNs = System.nanoTime(); System.nanoTime() - beginNs < READ_NS_MAX; ) {
                if (request.getCoyoteRequest().doRead(piece) < 0) {
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
