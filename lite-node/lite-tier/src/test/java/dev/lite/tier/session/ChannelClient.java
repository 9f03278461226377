package dev.lite.tier.session;

import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.Received;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.LinkKeys;
import dev.lite.session.channel.LinkSocket;
import dev.lite.session.channel.LinkWatch;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionChannel.WithDescriptors;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.ChannelClose;
import dev.lite.session.protocol.SessionMessage.ChannelEnded;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.session.protocol.SessionMessage.ChannelTaken;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.Reply;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** An application without LITE's client that opens and serves channels, message by message. One thread. */
final class ChannelClient implements AutoCloseable {
    private static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(10));

    final RawClient raw;
    private final List<WithDescriptors> unread = new ArrayList<>();
    private long lastRequest;

    ChannelClient(Path socket) throws ProtocolException {
        this(socket, SessionProtocol.VERSION);
    }

    /** @param version of the protocol, the only one that it speaks */
    ChannelClient(Path socket, int version) throws ProtocolException {
        raw = new RawClient(socket).attach(new Hello(version, version, "raw", null));
    }

    /** The first message of this kind that was not read yet, and its descriptors; waits for it. */
    private WithDescriptors await(Predicate<SessionMessage> which) throws ProtocolException {
        for (Iterator<WithDescriptors> all = unread.iterator(); all.hasNext(); ) {
            WithDescriptors message = all.next();
            if (which.test(message.message())) {
                all.remove();
                return message;
            }
        }
        while (true) {
            WithDescriptors message = raw.channel.receiveWithDescriptors();
            if (message == null) {
                throw new AssertionError("the node closed the connection; unread: " + unread);
            }
            if (which.test(message.message())) {
                return message;
            }
            unread.add(message);
        }
    }

    private <T extends SessionMessage> T await(Class<T> kind) throws ProtocolException {
        return kind.cast(await(kind::isInstance).message());
    }

    private long send(Request request) {
        raw.channel.send(request);
        return request.requestId();
    }

    private Reply reply(long request) throws ProtocolException {
        return (Reply) await(message -> message instanceof Reply reply && reply.requestId() == request)
                .message();
    }

    /** Opens a function; returns its number. */
    long open(RpcKind kind, String node, String function) throws ProtocolException {
        return ((RpcOpened) reply(send(new RpcOpen(++lastRequest, kind, node, function)))).id();
    }

    long serve(String function) throws ProtocolException {
        return open(RpcKind.SERVER, "", function);
    }

    Reply closeServer(long number) throws ProtocolException {
        return reply(send(new RpcClose(++lastRequest, number)));
    }

    /** Asks for a channel; returns the request's number. */
    long ask(long client) {
        return ask(client, GENEROUS);
    }

    long ask(long client, Duration deadline) {
        return send(new ChannelOpen(++lastRequest, deadline.toNanos(), client));
    }

    /** Why a request failed. */
    Failed failure(long request) throws ProtocolException {
        Reply reply = reply(request);
        if (reply instanceof Failed failed) {
            return failed;
        }
        throw new AssertionError("not refused: " + reply);
    }

    /** Whether a reply to a request has come before what was read last. */
    boolean isAnswered(long request) {
        return unread.stream().anyMatch(one -> one.message() instanceof Reply reply && reply.requestId() == request);
    }

    /** A channel and its memory or connection. */
    record Opened(long number, ChannelArea area, @Nullable LinkKeys keys, Received carrier) implements AutoCloseable {
        /** Takes the descriptor over. */
        ChannelCaller caller(LinkWatch watch) {
            if (keys == null) {
                return new ChannelCaller(memory(), area, "f", 100, new Turns());
            }
            LinkSocket socket = LinkSocket.of(carrier.descriptors()[0], keys);
            return ChannelCaller.linked(area.create(), area, "f", 100, new PolledWaits("f", 100), socket, watch);
        }

        SharedMemory memory() {
            return SharedMemory.fromDescriptor(carrier.descriptors()[0], area.bytes(), true);
        }

        @Override
        public void close() {
            carrier.closeDescriptors();
        }
    }

    Opened opened(long request) throws ProtocolException {
        WithDescriptors reply = await(message -> message instanceof Reply its && its.requestId() == request);
        if (reply.message() instanceof ChannelOpened opened) {
            return new Opened(opened.channel(), opened.area(), opened.keys(), reply.carrier());
        }
        throw new AssertionError("not opened: " + reply.message());
    }

    /** An offered channel and its memory or connection. */
    record Offer(ChannelOffered message, Received carrier) implements AutoCloseable {
        /** Takes the descriptor over. */
        ChannelServer server(LinkWatch watch) {
            LinkKeys keys = message.keys();
            if (keys != null) {
                LinkSocket socket = LinkSocket.of(carrier.descriptors()[0], keys);
                ChannelArea area = message.area();
                return ChannelServer.linked(
                        area.create(), area, "f", message.node(), message.principal(), socket, watch);
            }
            SharedMemory memory = SharedMemory.fromDescriptor(
                    carrier.descriptors()[0], message.area().bytes(), true);
            return new ChannelServer(memory, message.area(), "f", message.node(), message.principal());
        }

        @Override
        public void close() {
            carrier.closeDescriptors();
        }
    }

    Offer offered() throws ProtocolException {
        WithDescriptors offer = await(ChannelOffered.class::isInstance);
        return new Offer((ChannelOffered) offer.message(), offer.carrier());
    }

    /** Closes the descriptors of all offers that have come so far. */
    void closeOffers() {
        try {
            Reply unused = close(Long.MAX_VALUE);
        } catch (ProtocolException e) {
            throw new AssertionError(e);
        }
        unread.removeIf(message -> {
            boolean offered = message.message() instanceof ChannelOffered;
            if (offered) {
                message.carrier().closeDescriptors();
            }
            return offered;
        });
    }

    Reply take(long channel) throws ProtocolException {
        return reply(send(new ChannelTaken(++lastRequest, channel)));
    }

    /** Takes the next offered channel; returns its number. */
    long takeNext() throws ProtocolException {
        try (Offer offer = offered()) {
            long number = offer.message().channel();
            if (take(number) instanceof Done) {
                return number;
            }
            throw new AssertionError("the node does not know the channel that it offered: " + offer);
        }
    }

    Reply close(long channel) throws ProtocolException {
        return reply(send(new ChannelClose(++lastRequest, channel)));
    }

    /** The next end of a channel that the node reports. */
    ChannelEnded ended() throws ProtocolException {
        return await(ChannelEnded.class);
    }

    /** The next retirement of a channel that the node reports. */
    ChannelRetired retired() throws ProtocolException {
        return await(ChannelRetired.class);
    }

    /** Whether the node reports an end before the answer of the next request. */
    boolean hasEnded() throws ProtocolException {
        Reply unused = close(Long.MAX_VALUE);
        return unread.stream().anyMatch(message -> message.message() instanceof ChannelEnded);
    }

    /** Submits a receive in a slot; waits until the node has seen it. */
    void receive(int slot, long server) {
        receive(slot, server, 0);
    }

    /** {@link #receive} of an application that knows that the function has channels. */
    void receiveBesideChannels(int slot, long server) {
        receive(slot, server, Op.BESIDE_CHANNELS);
    }

    private void receive(int slot, long server, long operand1) {
        long at = raw.base() + SessionArea.slotOffset(slot);
        RawMemory.putLong(at + SessionArea.TIMEOUT_NS, GENEROUS.toNanos());
        RawMemory.putLong(at + SessionArea.OPERAND1, operand1);
        raw.command(slot, Op.RECEIVE, server, 0, 0);
        raw.submit(1L << slot);
        Waits.until(
                "the node has seen the receive",
                () -> RawMemory.getLongVolatile(raw.base() + SessionArea.SUBMITTED) == 0);
    }

    /** Submits a call through the nodes, of 8 bytes with this number. */
    void call(int slot, long client, long number) {
        RawMemory.putLong(window(slot), number);
        command(slot, Op.CALL, client, Long.BYTES);
    }

    /** Submits the answer to the call that another slot has received: its number and 1. */
    void answer(int slot, long server, int received) {
        RawMemory.putLong(window(slot), RawMemory.getLong(window(received)) + 1);
        long call = RawMemory.getLong(raw.base() + SessionArea.slotOffset(received) + SessionArea.CALL);
        command(slot, Op.REPLY, server, call);
    }

    /** The number that a slot has received. */
    long number(int slot) {
        return RawMemory.getLong(window(slot));
    }

    private long window(int slot) {
        return raw.base() + raw.area().windowOffset(slot);
    }

    private void command(int slot, int op, long function, long operand0) {
        long at = raw.base() + SessionArea.slotOffset(slot);
        RawMemory.putLong(at + SessionArea.TIMEOUT_NS, GENEROUS.toNanos());
        RawMemory.putLong(at + SessionArea.OPERAND0, operand0);
        RawMemory.putLong(at + SessionArea.OPERAND1, 0);
        raw.command(slot, op, function, 0, Long.BYTES);
        raw.submit(1L << slot);
    }

    /** Whether the command of a slot is done. */
    boolean isDone(int slot) {
        return RawMemory.getIntVolatile(raw.base() + SessionArea.slotOffset(slot) + SessionArea.STATE)
                == SessionArea.STATE_DONE;
    }

    int status(int slot) {
        return RawMemory.getInt(raw.base() + SessionArea.slotOffset(slot) + SessionArea.STATUS);
    }

    @Override
    public void close() {
        try {
            raw.channel.setTimeout(1, 0);
            while (true) {
                WithDescriptors message = raw.channel.receiveWithDescriptors();
                if (message == null) {
                    break;
                }
                message.carrier().closeDescriptors();
            }
        } catch (OsException | ProtocolException nothingLeft) {
            // The process has all descriptors that were sent to it.
        } finally {
            unread.forEach(message -> message.carrier().closeDescriptors());
            unread.clear();
            raw.close();
        }
    }
}
