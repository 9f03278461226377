package dev.lite.tier.session;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Priority;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.tier.TierRpc;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The functions and ports that an attached application has open, to call and to serve. Any thread. */
final class OpenedFunctions {
    /** The limit of functions and ports that a session has open, to call and to serve. */
    static final int OPENED_MAX = 8192;

    private final Supplier<TierRpc> rpc;
    private final AtomicLong lastNumber;
    private final Map<Long, Opened> opened = new ConcurrentHashMap<>();
    private final AtomicInteger openedCount = new AtomicInteger();

    /** A function or port that the application opened. */
    sealed interface Opened {}

    /** @param low the same client for calls of low priority */
    record OpenClient(RpcClient client, RpcClient low) implements Opened {
        private static OpenClient of(RpcClient client) {
            return new OpenClient(client, client.withPriority(Priority.LOW));
        }
    }

    record OpenSender(String node, String port) implements Opened {}

    record OpenServer(RpcServer server) implements Opened {}

    record OpenPort(RpcMessages messages) implements Opened {}

    /** @param lastNumber the last number that was given to the application */
    OpenedFunctions(Supplier<TierRpc> rpc, AtomicLong lastNumber) {
        this.rpc = rpc;
        this.lastNumber = lastNumber;
    }

    /** The function or port with this number, whatever its {@link SessionProtocol#LOW_PRIORITY}; null if it is not open. */
    @Nullable
    Opened find(long number) {
        return opened.get(number & ~SessionProtocol.LOW_PRIORITY);
    }

    /** Opens a function or port; returns its number. A virtual thread. */
    long open(RpcKind kind, String node, String name) {
        if (openedCount.incrementAndGet() > OPENED_MAX) {
            openedCount.decrementAndGet();
            throw new LimitExceededException(
                    "the session has %d functions and ports open; that is the limit".formatted(OPENED_MAX));
        }
        boolean kept = false;
        try {
            Opened made = switch (kind) {
                case CLIENT -> OpenClient.of(rpc.get().bind(node, name));
                case ANY -> OpenClient.of(rpc.get().bindAny(name));
                case SENDER -> new OpenSender(node, name);
                case SERVER -> new OpenServer(rpc.get().serve(name));
                case PORT -> new OpenPort(rpc.get().messages(name));
            };
            long number = lastNumber.incrementAndGet();
            opened.put(number, made);
            kept = true;
            return number;
        } finally {
            if (!kept) {
                openedCount.decrementAndGet();
            }
        }
    }

    /** Closes it; does nothing when it is not open. */
    void close(long number) {
        Opened found = opened.remove(number);
        if (found != null) {
            openedCount.decrementAndGet();
            close(found);
        }
    }

    private static void close(Opened found) {
        switch (found) {
            case OpenServer open -> open.server().close();
            case OpenPort open -> open.messages().close();
            case OpenClient open -> {
                // nothing to close
            }
            case OpenSender open -> {
                // nothing to close
            }
        }
    }

    /** Closes all of them. */
    void closeAll() {
        opened.values().forEach(OpenedFunctions::close);
        opened.clear();
    }
}
