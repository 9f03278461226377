package dev.lite.tier.session;

import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.LinkKeys;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.ChannelEnded;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.tier.channel.ChannelApplication;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.channel.OpenedChannel;
import dev.lite.tier.channel.SessionChannels;
import dev.lite.tier.rpc.PostedReceive;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An attached application's requests about channels, and the messages about them to it. Any thread. */
final class ChannelRequests implements ChannelApplication {
    private static final Logger LOG = LoggerFactory.getLogger(ChannelRequests.class);

    private final String session;
    private final RpcCommands rpc;
    private final SessionChannel control;
    private final Consumer<String> drop;
    private final boolean takesLinks;
    private final @Nullable SessionChannels channels;

    /**
     * @param node null if the session has no channels
     * @param takesLinks whether the application can use channels to other hosts
     * @param drop called with the reason when the application does not read its control channel
     */
    ChannelRequests(
            String session,
            @Nullable NodeChannels node,
            String principal,
            RpcCommands rpc,
            SessionChannel control,
            boolean takesLinks,
            Consumer<String> drop) {
        this.session = session;
        this.rpc = rpc;
        this.control = control;
        this.drop = drop;
        this.takesLinks = takesLinks;
        channels = node == null ? null : node.session(principal, this);
    }

    /** Opens a channel to the function of a number; see {@link SessionChannels#open}. */
    OpenedChannel open(long client, Duration deadline) {
        if (!(rpc.opened().find(client) instanceof OpenedFunctions.OpenClient open)) {
            throw new SessionLostException("no function to call has the number %d; it was closed".formatted(client));
        }
        return required().open(open.client().node(), open.client().function(), deadline);
    }

    /** See {@link SessionChannels#taken}. */
    void taken(long channel) {
        required().taken(channel);
    }

    /** See {@link SessionChannels#close(long)}. */
    void close(long channel) {
        required().close(channel);
    }

    /** The application has opened something; takes channels for it if that is a server. */
    void opened(long number) {
        if (channels != null
                && rpc.opened().find(number) instanceof OpenedFunctions.OpenServer open
                && open.server() instanceof PostedReceive.Server server) {
            server.hostChannels(channels.host(number));
        }
    }

    /** The session has ended, and its channels with it. */
    void end() {
        if (channels != null) {
            channels.close();
        }
    }

    private SessionChannels required() {
        if (channels == null) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "this node has no channels for sessions with windows below %d bytes"
                            .formatted(NodeChannels.WINDOW_BYTES));
        }
        return channels;
    }

    @Override
    public boolean offer(
            long channel,
            long server,
            ChannelArea area,
            String node,
            String principal,
            int descriptor,
            @Nullable LinkKeys keys) {
        return send(new ChannelOffered(channel, server, area, node, principal, keys), descriptor);
    }

    @Override
    public boolean takesLinks() {
        return takesLinks;
    }

    @Override
    public void ended(long channel, String reason) {
        boolean unused = send(new ChannelEnded(channel, reason)); // an application that does not read loses its session
    }

    @Override
    public void retired(long channel, String reason) {
        boolean unused = send(new ChannelRetired(channel, reason));
    }

    @Override
    public void channels(long server, boolean any) {
        rpc.channels(server, any);
    }

    private boolean send(SessionMessage message, int... descriptors) {
        try {
            control.send(message, descriptors);
            return true;
        } catch (OsException failed) {
            if (failed.errno() == Errno.EAGAIN) {
                drop.accept("the application does not read its control channel");
            }
        } catch (IllegalArgumentException tooLong) { // a name of another node is longer than the protocol allows
            LOG.error("{}: a message about a channel cannot be sent", session, tooLong);
        }
        return false;
    }
}
