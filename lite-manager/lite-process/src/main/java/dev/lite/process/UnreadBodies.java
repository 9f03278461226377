package dev.lite.process;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
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
 */
final class UnreadBodies extends ValveBase {
    private static final int READERS_MAX = 4;
    private static final long READ_NS_MAX = TimeUnit.SECONDS.toNanos(2);

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
