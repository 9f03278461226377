package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.peer.Peer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The node's {@link RpcSlot}s, in three sizes, allocated on first use, and their distribution among {@link
 * RpcSlotShare}s. Any thread.
 *
 * <p>Limit: {@value #SMALL_MAX} slots of 1 KiB, {@value #MIDDLE_MAX} of 8 KiB and {@value #LARGE_MAX} of 64 KiB. Each
 * slot takes its size twice (out and in) plus 128 bytes: 4.3 + 8.1 + 32.0 MiB of the arena at most.
 *
 * <p><b>Shares.</b> Three quarters of the slots are for calls, one quarter is for replies, so a node whose calls all hang
 * still answers. Within each part, a group (of calls: a principal; of replies: a calling node) owns at most as many slots
 * as it leaves to other groups, and a share at most as many as it leaves to its group. So a function that never answers
 * takes a third of the slots for calls, and its principal half of them; the next principal can have half of the rest, and
 * so on. A call that finds no free slot waits up to its deadline.
 */
final class RpcSlots {
    static final int OUT_HEADER_BYTES = 64;
    static final int SMALL_MAX = 2048;
    static final int MIDDLE_MAX = 512;
    static final int LARGE_MAX = 256;

    private static final int[] CAPACITY = {1 << 10, 8 << 10, LtRpc.MESSAGE_BYTES_MAX};
    /** Slots allocated at once: about 128 KiB. */
    private static final int[] BATCH = {64, 8, 1};

    /** All slots; each has an index below this. */
    static final int COUNT_MAX = SMALL_MAX + MIDDLE_MAX + LARGE_MAX;

    /** The number of sizes. */
    static final int SIZES = CAPACITY.length;

    private static final long PAUSE_NS = 20_000;
    /** A thread that has waited so long for a slot gets the next one that is returned. */
    private static final long PATIENCE_NS = TimeUnit.MILLISECONDS.toNanos(10);
    /** Free slots are collected from all shares at most this often, so that a full group does not slow the others. */
    private static final long COLLECT_PAUSE_NS = 1_000_000;

    private final long arenaAddress;
    private final LongUnaryOperator room;
    private final int[] max;
    private final AtomicReferenceArray<@Nullable RpcSlot> slots;
    private volatile int count;
    private volatile boolean closed;
    /** The slots' memory may be unmapped. */
    private volatile boolean ended;

    @GuardedBy("this")
    private final int[] made = new int[SIZES];

    /** By size: slots that belong to no share. */
    @GuardedBy("this")
    private final List<ArrayDeque<RpcSlot>> stock = List.of(new ArrayDeque<>(), new ArrayDeque<>(), new ArrayDeque<>());

    /** By size: shares that own slots. */
    @GuardedBy("this")
    private final List<Set<RpcSlotShare>> owners =
            List.of(new LinkedHashSet<>(), new LinkedHashSet<>(), new LinkedHashSet<>());

    @GuardedBy("this")
    private final Map<String, Group> groups = new HashMap<>();

    @GuardedBy("this")
    private final long[] collectedNs = new long[SIZES];

    private final Part calls;
    private final Part replies;

    /** The slots for calls, or those for replies. Guarded by the slots' lock. */
    static final class Part {
        final int[] max;
        final int[] owned = new int[SIZES];

        Part(int[] all, int quarters) {
            max = Arrays.stream(all).map(each -> each / 4 * quarters).toArray();
        }
    }

    /** The shares of one principal, or of one calling node. Guarded by the slots' lock. */
    static final class Group {
        final Part part;
        final String name;
        final int[] owned = new int[SIZES];
        int shares; // not closed

        Group(Part part, String name) {
            this.part = part;
            this.name = name;
        }

        /** Whether a share may own one more slot. */
        boolean allows(RpcSlotShare share, int sizeClass) {
            int leftToGroups = part.max[sizeClass] - part.owned[sizeClass];
            int leftToShares = leftToGroups - owned[sizeClass];
            return owned[sizeClass] < leftToGroups && share.owned[sizeClass] < leftToShares;
        }

        void add(RpcSlotShare share, int sizeClass, int number) {
            part.owned[sizeClass] += number;
            owned[sizeClass] += number;
            share.owned[sizeClass] += number;
        }

        boolean isUnused() {
            return shares == 0 && owned[0] + owned[1] + owned[2] == 0;
        }
    }

    /**
     * @param room allocates bytes of the arena and returns their offset; throws {@link LimitExceededException} if there is no
     *     room
     */
    RpcSlots(long arenaAddress, LongUnaryOperator room) {
        this(arenaAddress, room, SMALL_MAX, MIDDLE_MAX, LARGE_MAX);
    }

    /** With other limits, for tests. */
    RpcSlots(long arenaAddress, LongUnaryOperator room, int smallMax, int middleMax, int largeMax) {
        this.arenaAddress = arenaAddress;
        this.room = room;
        this.max = new int[] {smallMax, middleMax, largeMax};
        this.slots = new AtomicReferenceArray<>(smallMax + middleMax + largeMax);
        this.calls = new Part(max, 3);
        this.replies = new Part(max, 1);
    }

    /** A share for the calls of a function by a principal. */
    RpcSlotShare calls(String principal, String user) {
        return new RpcSlotShare(this, group("calls of \"%s\"".formatted(principal), calls), user);
    }

    /** A share for the replies to a ring of a calling node. */
    RpcSlotShare replies(String node, String user) {
        return new RpcSlotShare(this, group("replies to node %s".formatted(node), replies), user);
    }

    private synchronized Group group(String name, Part part) {
        Group group = groups.computeIfAbsent(name, any -> new Group(part, name));
        group.shares++;
        return group;
    }

    synchronized void close(RpcSlotShare share) {
        if (!share.closed) {
            share.closed = true;
            share.group.shares--;
            disown(share);
        }
    }

    /** Offset of the outgoing half in a slot. */
    static int outPlace(int capacity) {
        return (RpcWire.REPLY_HEADER_BYTES + capacity + RpcWire.UNIT_BYTES - 1) & -RpcWire.UNIT_BYTES;
    }

    private static int slotBytes(int capacity) {
        return outPlace(capacity) + OUT_HEADER_BYTES + capacity;
    }

    /** The size of the smallest slot for messages of up to so many bytes. */
    static int sizeClass(int bytes) {
        int sizeClass = 0;
        while (CAPACITY[sizeClass] < bytes) {
            sizeClass++;
        }
        return sizeClass;
    }

    /** The longest message of a slot of this size, in bytes. */
    static int capacity(int sizeClass) {
        return CAPACITY[sizeClass];
    }

    /** Whether a slot of any node can have this index. */
    static boolean isIndex(int index) {
        return index >= 0 && index < COUNT_MAX;
    }

    @Nullable
    RpcSlot get(int index) {
        return index >= 0 && index < slots.length() ? slots.get(index) : null;
    }

    /** Marks a slot as owned by this thread. */
    RpcSlot own(RpcSlot slot) {
        slot.own();
        // After the state is set: either this thread sees closed, or awaitUnused sees the slot.
        if (closed) {
            slot.giveBack();
            throw new SessionLostException("the node is stopping");
        }
        return slot;
    }

    /**
     * Waits for a slot. One thread per share and size polls; the others queue for that thread's lock in FIFO order. Between two of its
     * looks, a thread that makes one call after the other takes again the slot that it has just returned. So after a while the
     * thread {@linkplain RpcSlotShare#want wants} a slot.
     */
    RpcSlot await(RpcSlotShare share, int sizeClass, long deadlineNs) {
        boolean mine = false;
        boolean wants = false;
        long wantNs = System.nanoTime() + PATIENCE_NS;
        try {
            mine = share.turns[sizeClass].tryLock(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
            while (true) {
                RpcSlot slot = wants ? share.wanted(sizeClass) : null;
                if (slot == null) {
                    slot = share.pop(sizeClass);
                }
                if (slot == null) {
                    slot = adopt(share, sizeClass);
                }
                if (slot != null) {
                    return own(slot);
                }
                if (closed) {
                    throw new SessionLostException("the node is stopping while a call waits for a slot");
                }
                long nowNs = System.nanoTime();
                if (!mine || deadlineNs - nowNs <= 0) {
                    throw new LiteTimeoutException(usedUp(share, sizeClass));
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                if (!wants && nowNs - wantNs >= 0) {
                    wants = true;
                    share.want(sizeClass);
                }
                Polling.sleepNs(PAUSE_NS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SessionLostException("interrupted while a call waits for a slot", e);
        } finally {
            if (wants) {
                share.endWant(sizeClass);
            }
            if (mine) {
                share.turns[sizeClass].unlock();
            }
        }
    }

    private synchronized String usedUp(RpcSlotShare share, int sizeClass) {
        int unanswered = 0;
        for (int index = 0; index < count; index++) {
            RpcSlot slot = slots.get(index);
            if (slot != null
                    && slot.share == share
                    && slot.sizeClass == sizeClass
                    && slot.state() == RpcSlot.ABANDONED) {
                unanswered++;
            }
        }
        return ("%s: no slot for a message of up to %d bytes came free: it has %d, of which %d are of calls that timed out and "
                        + "are not answered yet; all %s have %d; the limit of the node is %d")
                .formatted(
                        share.user,
                        CAPACITY[sizeClass],
                        share.owned[sizeClass],
                        unanswered,
                        share.group.name,
                        share.group.owned[sizeClass],
                        share.group.part.max[sizeClass]);
    }

    /** Gives a share one more slot, if it may have it and there is one; the slot is not in its list of free ones. */
    @Nullable
    synchronized RpcSlot adopt(RpcSlotShare share, int sizeClass) {
        if (share.closed) {
            throw new NodeUnreachableException("%s is not connected or not served any more".formatted(share.user));
        }
        if (closed) {
            return null;
        }
        boolean allowed = share.group.allows(share, sizeClass);
        if (!allowed || (stock.get(sizeClass).isEmpty() && !makeMore(sizeClass))) {
            collect(sizeClass);
            allowed = share.group.allows(share, sizeClass);
        }
        RpcSlot slot = allowed ? stock.get(sizeClass).poll() : null;
        if (slot != null) {
            slot.share = share;
            share.group.add(share, sizeClass, 1);
            owners.get(sizeClass).add(share);
        }
        return slot;
    }

    /** Takes the free slots of every share into the stock. */
    @GuardedBy("this")
    private void collect(int sizeClass) {
        long nowNs = System.nanoTime();
        if (nowNs - collectedNs[sizeClass] < COLLECT_PAUSE_NS && collectedNs[sizeClass] != 0) {
            return;
        }
        collectedNs[sizeClass] = nowNs | 1;
        for (RpcSlotShare owner : List.copyOf(owners.get(sizeClass))) {
            disown(owner, sizeClass);
        }
    }

    /** Takes the free slots of a closed share into the stock. */
    synchronized void disown(RpcSlotShare share) {
        for (int sizeClass = 0; sizeClass < SIZES; sizeClass++) {
            disown(share, sizeClass);
        }
        groups.computeIfPresent(share.group.name, (name, group) -> group.isUnused() ? null : group);
    }

    @GuardedBy("this")
    private void disown(RpcSlotShare share, int sizeClass) {
        RpcSlot slot;
        while ((slot = share.pop(sizeClass)) != null) {
            share.group.add(share, sizeClass, -1);
            stock.get(sizeClass).add(slot);
        }
        if (share.owned[sizeClass] == 0) {
            owners.get(sizeClass).remove(share);
        }
    }

    /** Whether the stock has slots now. */
    @GuardedBy("this")
    private boolean makeMore(int sizeClass) {
        if (made[sizeClass] == max[sizeClass]) {
            return false;
        }
        int bytes = slotBytes(CAPACITY[sizeClass]);
        long start;
        try {
            start = room.applyAsLong((long) bytes * BATCH[sizeClass]);
        } catch (LimitExceededException e) {
            if (made[sizeClass] > 0) {
                return false; // one of the existing slots becomes free
            }
            throw e;
        }
        for (int i = 0; i < BATCH[sizeClass]; i++) {
            long offset = start + (long) i * bytes;
            RpcSlot slot = new RpcSlot(count, sizeClass, CAPACITY[sizeClass], arenaAddress + offset, offset);
            slots.set(count, slot);
            count = slot.index + 1;
            stock.get(sizeClass).add(slot);
        }
        made[sizeClass] += BATCH[sizeClass];
        return true;
    }

    /** Runs an action for every slot of a peer; null: of none, such as those of the node's calls to itself. */
    void forEachOf(@Nullable Peer peer, Consumer<RpcSlot> action) {
        for (int index = 0; index < count; index++) {
            RpcSlot slot = slots.get(index);
            if (slot != null && slot.peer == peer) {
                action.accept(slot);
            }
        }
    }

    /** The calls to a peer whose callers have stopped waiting; null: the calls to this node itself. */
    List<RpcCancels.Abandoned> abandoned(@Nullable Peer peer) {
        List<RpcCancels.Abandoned> found = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            RpcSlot slot = slots.get(index);
            RpcCancels.Abandoned call = slot == null ? null : slot.abandoned(peer);
            if (call != null) {
                found.add(call);
            }
        }
        return found;
    }

    /** Arena bytes that the slots use. */
    synchronized long bytes() {
        long bytes = 0;
        for (int sizeClass = 0; sizeClass < SIZES; sizeClass++) {
            bytes += (long) made[sizeClass] * slotBytes(CAPACITY[sizeClass]);
        }
        return bytes;
    }

    /** Rejects further takes. */
    void close() {
        closed = true;
    }

    /**
     * A thread that serves a call of this node itself is about to use the slot's memory. No thread owns it for that: the call's owner may
     * stop waiting meanwhile. {@link RpcSlot#endServing} must follow. One thread per slot at a time.
     *
     * @return false: the memory may be unmapped, and nobody waits for the call
     */
    boolean beginServing(RpcSlot slot) {
        slot.beginServing();
        // After that: either this thread sees the end, or the end sees that it serves.
        if (ended) {
            slot.endServing();
            return false;
        }
        return true;
    }

    /**
     * After {@link #close}, and when no call is in flight: waits until no thread uses a slot's memory, and lets none use it again. Then it
     * may be unmapped.
     *
     * @return false if a thread still uses it at the deadline
     */
    boolean end(long deadlineNs) {
        if (!awaitUnused(deadlineNs)) {
            return false;
        }
        ended = true;
        return await(slot -> !slot.isServing(), deadlineNs);
    }

    /** After {@link #close}: waits until no call is in flight; false if one still is at the deadline. */
    boolean awaitUnused(long deadlineNs) {
        return await(slot -> slot.state() == RpcSlot.FREE || slot.state() == RpcSlot.ABANDONED, deadlineNs);
    }

    private boolean await(Predicate<RpcSlot> condition, long deadlineNs) {
        for (int index = 0; index < count; index++) {
            RpcSlot slot = slots.get(index);
            while (slot != null && !condition.test(slot)) {
                if (deadlineNs - System.nanoTime() <= 0) {
                    return false;
                }
                Polling.sleepNs(PAUSE_NS);
            }
        }
        return true;
    }
}
