package dev.lite.process;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.NioEndpoint;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/**
 * HTTP whose connections no single address can take all of: an address has half of {@code server.tomcat.max-connections} at most. For
 * a further one, the one ends from which nothing was read for the longest time: it has sent half a request, or none.
 *
 * <p>A request line and its headers may arrive in pieces, but all of them within {@value #HEADER_TIMEOUTS} of Tomcat's
 * {@code connection-timeout}s, which hold for each piece only. Public, because Tomcat creates it by its name.
 */
public final class AddressLimitedHttp extends Http11NioProtocol {
    private static final int HEADER_TIMEOUTS = 2;

    /** For Tomcat. */
    public AddressLimitedHttp() {
        super(new Endpoint());
    }

    private static final class Endpoint extends NioEndpoint {
        /** Connections that are about to end. */
        private static final int ENDING_MAX = 16;

        @Override
        public void setHandler(Handler<NioChannel> handler) {
            super.setHandler(new HeaderTimeout<>(
                    handler, () -> HEADER_TIMEOUTS * TimeUnit.MILLISECONDS.toNanos(getConnectionTimeout())));
        }

        @Override
        protected boolean setSocketOptions(SocketChannel socket) {
            String address = address(socket);
            if (address != null && !makeRoom(address)) {
                destroySocket(socket);
                return true; // nothing is left to do for the caller
            }
            return super.setSocketOptions(socket);
        }

        private static @Nullable String address(SocketChannel socket) {
            try {
                return socket.getRemoteAddress() instanceof InetSocketAddress remote
                        ? remote.getAddress().getHostAddress()
                        : null;
            } catch (IOException gone) {
                return null; // the next step notices it
            }
        }

        private boolean makeRoom(String address) {
            int max = Math.max(1, getMaxConnections() / 2);
            int others = 0;
            NioSocketWrapper oldest = null;
            for (SocketWrapperBase<NioChannel> connection : getConnections()) {
                if (address.equals(connection.getRemoteAddr())) {
                    others++;
                    if (connection instanceof NioSocketWrapper waited
                            && isWaited(waited)
                            && (oldest == null || waited.getLastRead() < oldest.getLastRead())) {
                        oldest = waited;
                    }
                }
            }
            if (others < max) {
                return true;
            }
            return oldest != null && others < max + ENDING_MAX && processSocket(oldest, SocketEvent.ERROR, true);
        }

        /** Whether the server waits for a request, or for the rest of one; false for event streams. */
        private static boolean isWaited(SocketWrapperBase<NioChannel> connection) {
            return !(connection.getCurrentProcessor() instanceof Processor processor && processor.isAsync());
        }
    }
}
