package dev.lite.process;

import dev.lite.os.HostNetwork;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.NioEndpoint;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/**
 * HTTP whose connections no single host can take all of: {@linkplain HostNetwork an
 * IPv4 address or a network of IPv6} has half of {@code server.tomcat.max-connections} at most. For
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
        @Override
        public void setHandler(Handler<NioChannel> handler) {
            super.setHandler(new HeaderTimeout<>(
                    handler, () -> HEADER_TIMEOUTS * TimeUnit.MILLISECONDS.toNanos(getConnectionTimeout())));
        }

        @Override
        protected boolean setSocketOptions(SocketChannel socket) {
            String network = network(socket);
            if (network != null && !makeRoom(network)) {
                destroySocket(socket);
                return true; // nothing is left to do for the caller
            }
            return super.setSocketOptions(socket);
        }

        private static @Nullable String network(SocketChannel socket) {
            try {
                return socket.getRemoteAddress() instanceof InetSocketAddress remote
                        ? HostNetwork.of(remote.getAddress())
                        : null;
            } catch (IOException gone) {
                return null; // the next step notices it
            }
        }

        private boolean makeRoom(String network) {
            List<Other> others = new ArrayList<>();
            for (SocketWrapperBase<NioChannel> connection : getConnections()) {
                String address = connection.getRemoteAddr();
                if (address != null
                        && network.equals(HostNetwork.of(address))
                        && connection instanceof NioSocketWrapper other) {
                    others.add(new Other(other, other.getLastRead()));
                }
            }
            if (others.size() < Math.max(1, getMaxConnections() / 2)) {
                return true;
            }
            others.sort(Comparator.comparingLong(Other::lastReadMs));
            for (Other oldest : others) {
                if (end(oldest.connection)) {
                    return true;
                }
            }
            return false;
        }

        /** A connection and when it was last read from, as it was when it was looked at. */
        private record Other(NioSocketWrapper connection, long lastReadMs) {}

        /**
         * Ends a connection if the server waits for its request; false if it does not. Here rather than by the threads that serve
         * requests: as long as they are late, further connections would find no room.
         */
        private static boolean end(NioSocketWrapper connection) {
            Lock serving = connection.getLock();
            if (!serving.tryLock()) {
                return false;
            }
            try {
                if (!isWaited(connection)) {
                    return false;
                }
                connection.close();
                return true;
            } finally {
                serving.unlock();
            }
        }

        /** Whether the server waits for a request, or for the rest of one; false for event streams. */
        private static boolean isWaited(NioSocketWrapper connection) {
            return !(connection.getCurrentProcessor() instanceof Processor processor && processor.isAsync());
        }
    }
}
