package dev.lite.tier.session;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.channel.ChannelTotals;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** An attached application of a random history. Any thread. */
final class HistoryApp implements AutoCloseable {
    final String name;
    final String node;
    final Lite lite;
    /** Its session ends, or will soon. */
    volatile boolean ending;

    private final Map<CallBook.Function, RpcClient> clients = new ConcurrentHashMap<>();
    private final Object session;

    HistoryApp(String name, String node, Path socket) {
        this.name = name;
        this.node = node;
        lite = Lite.attach(AttachOptions.to(socket, name));
        session = Inside.field(lite, "session", Object.class);
    }

    RpcClient client(CallBook.Call call) {
        RpcClient client = clients.computeIfAbsent(
                call.function,
                its -> its.parts().isEmpty()
                        ? lite.rpc().bind(its.node(), its.name())
                        : lite.rpc().bindAny(its.name()));
        RpcClient its = call.priority == Priority.LOW ? client.withPriority(Priority.LOW) : client;
        return call.context == null ? its : its.withContext(call.context);
    }

    void send(CallBook.Call message) {
        CallBook.Function port = message.function;
        lite.rpc().send(port.node(), port.name(), MemorySegment.ofArray(message.request), message.deadline());
    }

    long channelCalls() {
        return Inside.field(Inside.field(session, "counts", Object.class), "channelCalls", ChannelTotals.class)
                .sum()
                .operations();
    }

    /** Waits until no call is under way in its channels, and those are gone that were retired. Nobody calls. */
    void awaitRest() {
        Object channels = Inside.field(session, "channels", Object.class);
        Map<?, ?> callers = Inside.field(channels, "callers", Map.class);
        Map<?, ?> openings = Inside.field(channels, "openings", Map.class);
        Waits.until(this + " asks for no channel", openings::isEmpty);
        Waits.until(
                this + " has no call in a channel, and no channel that was retired",
                () -> callers.values().stream()
                        .map(ChannelCaller.class::cast)
                        .allMatch(caller -> caller.isIdle() && !caller.isRetired() && !caller.isEnded()));
    }

    @Override
    public void close() {
        ending = true;
        lite.close();
    }

    @Override
    public String toString() {
        return name;
    }
}
