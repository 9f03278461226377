package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.api.SessionLostException;
import dev.lite.os.Linux;
import dev.lite.os.OsException;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Turns;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.LinkKeys;
import dev.lite.session.channel.LinkSocket;
import dev.lite.session.channel.LinkWatch;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.ChannelClose;
import dev.lite.session.protocol.SessionMessage.ChannelEnded;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.session.protocol.SessionMessage.ChannelTaken;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.waiting.PolledWaits;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The channels of a session: those through which it calls, and those through which it is called. The session's reader passes on what
 * the node says and must not block; any thread calls the rest.
 *
 * <p>A channel that has ended is closed by a thread of its own, which waits until nobody is in its memory.
 */
final class ClientChannels {
    private static final Logger LOG = LoggerFactory.getLogger(ClientChannels.class);

    /** In place of the descriptor of a channel, when this process has reached its limit of open ones. */
    static final int NO_DESCRIPTOR = -1;

    private static final long RETIRE_PAUSE_NS_MIN = 100_000;
    private static final long RETIRE_PAUSE_NS_MAX = 50_000_000;
    /**
     * How long a channel without calls waits for the answers to those that timed out. They may never come. Longer than a closed server
     * waits, which knows better why the channel ends.
     */
    private static final long UNANSWERED_NS_MAX = TimeUnit.SECONDS.toNanos(6);

    /** The node learns of a channel's end at about the same time as the applications. */
    private static final long WORD_NS_MAX = TimeUnit.SECONDS.toNanos(1);

    private final Session session;
    private final int spins;
    private final Turns turns;
    private final PolledWaits waits;
    private final LinkWatch watch = new LinkWatch();
    /** By request. */
    private final Map<Long, Opening> openings = new ConcurrentHashMap<>();
    /** By number. */
    private final Map<Long, ChannelCaller> callers = new ConcurrentHashMap<>();
    /** By number. */
    private final Map<Long, Served> served = new ConcurrentHashMap<>();
    /** By the number of their function. */
    private final Map<Long, IncomingCalls> servers = new ConcurrentHashMap<>();

    private volatile boolean lost;

    /** A channel that is asked for. */
    private static final class Opening {
        final String what;
        long requestId;
        boolean abandoned;

        @Nullable
        OpenChannel made;

        Opening(String what) {
            this.what = what;
        }
    }

    /** A channel through which this application calls. */
    record OpenChannel(long number, ChannelCaller caller) {}

    private record Served(IncomingCalls calls, ChannelServer channel) {}

    ClientChannels(Session session, int spins, Turns turns) {
        this.session = session;
        this.spins = spins;
        this.turns = turns;
        waits = new PolledWaits("lite-channels", spins);
    }

    /** For the virtual threads of all servers. */
    PolledWaits waits() {
        return waits;
    }

    /** A server accepts channels from now on. */
    void serve(long function, IncomingCalls calls) {
        servers.put(function, calls);
        if (lost) {
            calls.close();
        }
    }

    void stopServing(long function) {
        servers.remove(function);
    }

    /**
     * Asks the node for a channel to a function.
     *
     * @param what the call, for messages
     * @throws LiteException if there is none, with the reason
     */
    OpenChannel open(long function, String what) {
        Opening opening = new Opening(what);
        try {
            ChannelOpened opened = session.requests()
                    .ask(
                            "opening a channel",
                            ChannelOpened.class,
                            session.deadlineNs(),
                            id -> begin(opening, id, function),
                            null);
            synchronized (opening) {
                if (opening.made == null) {
                    throw new SessionLostException("channel %d ended at once".formatted(opened.channel()));
                }
                return opening.made;
            }
        } catch (LiteException e) {
            abandon(opening);
            throw e;
        }
    }

    private Request begin(Opening opening, long id, long function) {
        opening.requestId = id;
        openings.put(id, opening);
        return new ChannelOpen(id, session.nodeTimeoutNs(), function);
    }

    private void abandon(Opening opening) {
        openings.remove(opening.requestId);
        OpenChannel made;
        synchronized (opening) {
            opening.abandoned = true;
            made = opening.made;
        }
        if (made != null) {
            close(made);
        }
    }

    /** The node has opened a channel. The reader's thread. */
    void opened(ChannelOpened message, int descriptor) {
        Opening opening = openings.remove(message.requestId());
        ChannelArea area = message.area();
        if (opening == null) {
            refuse(descriptor, message.channel());
            return;
        }
        ChannelCaller caller = make(
                area,
                message.keys(),
                descriptor,
                message.channel(),
                memory -> new ChannelCaller(memory, area, opening.what, spins, turns),
                (memory, socket) -> ChannelCaller.linked(memory, area, opening.what, spins, waits, socket, watch));
        if (caller == null) {
            tellClosed(message.channel());
            return;
        }
        session.counts().opened(caller.counts());
        callers.put(message.channel(), caller); // first: who abandons it closes what it finds here
        boolean abandoned;
        synchronized (opening) {
            abandoned = opening.abandoned;
            opening.made = new OpenChannel(message.channel(), caller);
        }
        if (abandoned || lost) {
            close(new OpenChannel(message.channel(), caller));
        }
    }

    private void refuse(int descriptor, long number) {
        if (descriptor != NO_DESCRIPTOR) {
            Linux.closeDescriptor(descriptor);
        }
        tellClosed(number);
    }

    /** Makes an end of a channel; null if that is not possible. Takes the descriptor over. */
    private <T> @Nullable T make(
            ChannelArea area,
            @Nullable LinkKeys keys,
            int descriptor,
            long number,
            Function<SharedMemory, T> ofMemory,
            BiFunction<SharedMemory, LinkSocket, T> ofConnection) {
        if (descriptor == NO_DESCRIPTOR) {
            LOG.warn(
                    "cannot use channel {} of node {}: this process has no file descriptor left",
                    number,
                    session.nodeName());
            return null;
        }
        try {
            return keys == null
                    ? ofMemory.apply(SharedMemory.fromDescriptor(descriptor, area.bytes(), true))
                    : link(area, LinkSocket.of(descriptor, keys), ofConnection);
        } catch (IllegalArgumentException | OsException e) {
            LOG.warn("cannot use channel {} of node {}", number, session.nodeName(), e);
            return null;
        }
    }

    private static <T> T link(ChannelArea area, LinkSocket socket, BiFunction<SharedMemory, LinkSocket, T> make) {
        SharedMemory memory;
        try {
            memory = area.create();
        } catch (OsException e) {
            socket.wire().abort();
            throw e;
        }
        return make.apply(memory, socket);
    }

    /** Another application wants to call a function of this one. The reader's thread. */
    void offered(ChannelOffered message, int descriptor) {
        IncomingCalls calls = servers.get(message.server());
        ChannelArea area = message.area();
        String node = message.node();
        String principal = message.principal();
        if (calls == null) {
            refuse(descriptor, message.channel());
            return;
        }
        ChannelServer channel = make(
                area,
                message.keys(),
                descriptor,
                message.channel(),
                memory -> new ChannelServer(memory, area, calls.function(), node, principal),
                (memory, socket) ->
                        ChannelServer.linked(memory, area, calls.function(), node, principal, socket, watch));
        if (channel == null) {
            tellClosed(message.channel());
            return;
        }
        session.counts().channelAnswers().opened(channel.counts());
        served.put(message.channel(), new Served(calls, channel));
        if (lost || !calls.add(channel)) {
            served.remove(message.channel());
            channel.close();
            session.counts().channelAnswers().closed(channel.counts());
            tellClosed(message.channel());
        } else {
            tell("taking a channel", id -> new ChannelTaken(id, message.channel()));
        }
    }

    /** The node has ended a channel. The reader's thread. */
    void ended(ChannelEnded message) {
        ChannelCaller caller = callers.remove(message.channel());
        if (caller != null) {
            caller.end(message.reason());
            closeLater(caller);
        }
        Served one = served.remove(message.channel());
        if (one != null) {
            one.channel().end(message.reason());
            one.calls().remove(one.channel());
        }
    }

    /** A channel must be closed when its calls under way have ended. The reader's thread. */
    void retired(ChannelRetired message) {
        ChannelCaller caller = callers.get(message.channel());
        if (caller != null) {
            caller.retire();
            closeUnused(new OpenChannel(message.channel(), caller));
        }
    }

    /** Closes a channel through which this application calls. Idempotent; does not wait for calls under way, which fail. */
    void close(OpenChannel channel) {
        if (callers.remove(channel.number(), channel.caller())) {
            channel.caller().end("this application has closed the channel");
            closeLater(channel.caller());
            tellClosed(channel.number());
        }
    }

    private void closeLater(ChannelCaller caller) {
        later(() -> {
            caller.close();
            session.counts().closed(caller.counts());
        });
    }

    /**
     * Closes a channel in which no call begins any more: when its calls have ended, or when it has ended and the node has told why, or a
     * little later. Idempotent; does not wait.
     */
    void closeUnused(OpenChannel channel) {
        ChannelCaller caller = channel.caller();
        later(() -> {
            long beganNs = System.nanoTime();
            long pauseNs = RETIRE_PAUSE_NS_MIN;
            do {
                while (!caller.isEnded()
                        && !caller.isIdle()
                        && (caller.isAwaited() || System.nanoTime() - beganNs < UNANSWERED_NS_MAX)) {
                    Polling.sleepNs(pauseNs);
                    pauseNs = Math.min(RETIRE_PAUSE_NS_MAX, 2 * pauseNs);
                }
            } while (!caller.tryEndUse()); // a thread may have chosen the channel before it was retired, and call now
            closeWhenTold(channel);
        });
    }

    /** {@link #close}; but if the channel has ended, calls first wait for the node's word, which that would stand for. */
    private void closeWhenTold(OpenChannel channel) {
        if (channel.caller().isEnded()) {
            boolean unused = channel.caller().awaitToldToEnd(WORD_NS_MAX);
        }
        close(channel);
    }

    /** Waits until the node has told the end of a channel that this application found ended; false if it does not, or not in time. */
    boolean awaitWord(ChannelCaller caller, long timeoutNs) {
        return caller.awaitToldToEnd(Math.min(timeoutNs, WORD_NS_MAX));
    }

    /** A channel of a server has ended, and has left its group. */
    void left(ChannelServer channel) {
        served.forEach((number, one) -> {
            if (one.channel() == channel && served.remove(number, one)) {
                tellClosed(number);
            }
        });
        later(() -> {
            channel.close();
            session.counts().channelAnswers().closed(channel.counts());
        });
    }

    private void tellClosed(long number) {
        tell("closing a channel", id -> new ChannelClose(id, number));
    }

    /** Sends a request to the node, whose answer nobody waits for. */
    private void tell(String what, LongFunction<Request> make) {
        later(() -> {
            try {
                session.requests().askToRelease(what, session.deadlineNs(), make);
            } catch (LiteException e) {
                LOG.debug("{}: node {} did not answer", what, session.nodeName(), e);
            }
        });
    }

    private static void later(Runnable task) {
        Thread unused = Thread.ofVirtual().name("lite-client-channel").start(task);
    }

    /** The session has ended: all channels end. */
    void lose(String reason) {
        lost = true;
        callers.forEach((number, caller) -> {
            caller.end(reason);
            if (callers.remove(number, caller)) {
                closeLater(caller);
            }
        });
        servers.values().forEach(IncomingCalls::close);
        served.values().forEach(one -> one.calls().close()); // servers that are being closed, too
        waits.close();
        watch.close();
    }

    /** A message about channels must have a descriptor, or must have none. */
    static void requireDescriptors(int[] descriptors, int count, String message) throws ProtocolException {
        if (descriptors.length != count) {
            for (int descriptor : descriptors) {
                Linux.closeDescriptor(descriptor);
            }
            throw new ProtocolException(
                    "%s with %d descriptors; expected %d".formatted(message, descriptors.length, count));
        }
    }
}
