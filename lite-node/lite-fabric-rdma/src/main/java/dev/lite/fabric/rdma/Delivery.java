package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.VerbsException;
import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Takes completions and passes them to the lanes and the handler. While no thread polls, the device announces them. */
final class Delivery {
    /** Maximum number of completions per poll that cause no call of the handler. */
    private static final int OWN_MAX = 256;

    private final Completions queue;
    private final Announcements announcements;
    private final Lanes lanes;
    private final FabricHandler handler;
    private final Consumer<String> deviceFailed;

    private final Arena arena = Arena.ofAuto();
    private final long batch = arena.allocate((long) Completions.BATCH * Completion.BYTES, Long.BYTES)
            .address();
    private int batchNext;
    private int batchEnd;

    /** Arrivals for endpoints that the handler does not know yet. */
    private final ArrayDeque<Early> early = new ArrayDeque<>();

    private long handled;
    private boolean queueEmpty;
    private boolean served;
    private boolean debts;
    private volatile boolean stopped;

    /** An arrival on a lane whose endpoint the handler does not know yet. */
    private record Early(RdmaLane lane, int count, boolean isImmediate, int immediate) {}

    /** @param deviceFailed called with the reason if the device delivers no completions any more */
    Delivery(
            Completions queue,
            Announcements announcements,
            Lanes lanes,
            FabricHandler handler,
            Consumer<String> deviceFailed) {
        this.queue = queue;
        this.announcements = announcements;
        this.lanes = lanes;
        this.handler = handler;
        this.deviceFailed = deviceFailed;
    }

    /** Passes at most {@code limit} completions and immediates to the handler; returns how many. */
    int poll(int limit) {
        served = false;
        int handed = early.isEmpty() ? 0 : deliverEarly(limit);
        int own = 0;
        queueEmpty = false;
        boolean more = true;
        while (handed < limit && own < OWN_MAX && !stopped) {
            if (batchNext == batchEnd) {
                if (!more) {
                    break;
                }
                // Fewer than asked for means that the queue is empty: the next poll tries again.
                more = refill() == Completions.BATCH;
                if (batchEnd == 0) {
                    break;
                }
            }
            long completion = batch + (long) batchNext++ * Completion.BYTES;
            int calls = hand(completion);
            handled++;
            handed += calls;
            own += 1 - calls;
        }
        return handed;
    }

    /** Stops all deliveries. Any thread. */
    void stop() {
        stopped = true;
    }

    /** Whether the last {@link #poll} did something for a peer. */
    boolean served() {
        return served;
    }

    /** Whether the queue was empty when it was last read. */
    boolean queueEmpty() {
        return queueEmpty;
    }

    /** Total number of completions passed to the handler. */
    long handled() {
        return handled;
    }

    /**
     * Called when polling stops. Returns true if there is nothing to poll; then the device announces the next
     * completion, unless it failed.
     */
    boolean leave() {
        announcements.startRelying();
        try {
            // If the device was already armed, it announces everything; if it was armed only now, check the queue once
            // more.
            return batchNext == batchEnd && (!announcements.ask() || refill() == 0);
        } catch (VerbsException e) {
            deviceFailed(e); // the ends of the connections wake the caller
            return true;
        }
    }

    /** Called when a thread polls again. */
    void resume() {
        announcements.stopRelying();
    }

    /** Whether an announcement is likely while a thread polls. */
    boolean isAnnouncedAnyway() {
        return announcements.isUsual();
    }

    /** Records that the device announced a completion. Any thread. */
    void announced() {
        announcements.came();
    }

    /** Takes the next completions; returns how many, or -1 if another thread is taking them. */
    private int refill() {
        batchNext = 0;
        batchEnd = 0;
        try {
            int taken = queue.take(batch);
            queueEmpty = taken == 0;
            batchEnd = Math.max(0, taken);
            return taken;
        } catch (VerbsException e) {
            queueEmpty = true;
            deviceFailed(e);
            return 0;
        }
    }

    private void deviceFailed(VerbsException e) {
        deviceFailed.accept("the device failed: " + e.getMessage());
    }

    private int hand(long completion) {
        long id = Completion.id(completion);
        int status = Completion.status(completion);
        boolean success = Completion.isSuccess(status);
        announcements.took(Completion.isReceive(id) || !success);
        var lane = lanes.of(Completion.tag(id));
        if (lane == null) {
            return 0;
        }
        var endpoint = lane.owner();
        if (!success) {
            lane.lost(Completion.describe(status), Completion.error(status));
        } else if (endpoint != null) {
            endpoint.sawTraffic();
        }
        int count = Completion.count(id);
        if (!Completion.isReceive(id)) {
            return sent(lane, endpoint, count, status);
        }
        if (!success) {
            return 0;
        }
        if (count < RdmaLane.HANDSHAKE_RECEIVES) {
            lane.received(count, Completion.byteLength(completion));
            return 0;
        }
        boolean isImmediate = Completion.hasImmediate(completion);
        int immediate = Completion.immediate(completion);
        if (isEarly(lane) || (!early.isEmpty() && early.stream().anyMatch(before -> before.lane() == lane))) {
            early.add(new Early(lane, count, isImmediate, immediate));
            return 0;
        }
        return endpoint == null ? 0 : arrived(lane, endpoint, count, isImmediate, immediate);
    }

    private int sent(RdmaLane lane, @Nullable RdmaEndpoint endpoint, int count, int status) {
        long context = lane.context(count);
        if (!lane.end(count) || endpoint == null) {
            return 0;
        }
        if (Completion.isSuccess(status)) {
            handler.completed(endpoint, context);
        } else {
            handler.failed(endpoint, context, Completion.error(status));
        }
        return 1;
    }

    private int arrived(RdmaLane lane, RdmaEndpoint endpoint, int count, boolean isImmediate, int immediate) {
        var mailbox = lane.mailbox();
        if (mailbox == null || !endpoint.isLive()) {
            return 0;
        }
        if (isImmediate) {
            mailbox.tookImmediate();
            debts |= mailbox.owes(); // first: the peer needs its credits also if the handler fails
            handler.immediate(endpoint, immediate);
            return 1;
        }
        int handed = mailbox.took(endpoint, handler, count);
        served |= handed == 0;
        debts |= mailbox.owes();
        return handed;
    }

    /** Whether the handler does not know the connection yet. */
    private static boolean isEarly(RdmaLane lane) {
        var endpoint = lane.owner();
        return endpoint == null || (endpoint.link() == null && endpoint.end() == null);
    }

    /** Delivers, in order, held-back arrivals of endpoints that are connected by now. */
    private int deliverEarly(int limit) {
        int handed = 0;
        for (var left = early.iterator(); left.hasNext() && handed < limit; ) {
            var first = left.next();
            boolean isGone = lanes.of(first.lane().tag) == null;
            if (isEarly(first.lane()) && !isGone) {
                continue;
            }
            left.remove();
            var endpoint = first.lane().owner();
            if (endpoint != null && !isGone) {
                handed += arrived(first.lane(), endpoint, first.count(), first.isImmediate(), first.immediate());
            }
        }
        return handed;
    }

    /** Sends the answers and credits that are owed to peers, as far as there is room. */
    void settle(List<RdmaEndpoint> live) {
        if (!debts) {
            return;
        }
        debts = false;
        for (var endpoint : live) {
            var link = endpoint.link();
            if (link != null && endpoint.end() == null && link.mailbox().owes()) {
                debts |= !link.mailbox().settle();
            }
        }
    }
}
