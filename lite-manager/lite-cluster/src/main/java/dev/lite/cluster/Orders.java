package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.Order.Kind;
import dev.lite.cluster.Order.State;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The cluster's orders, kept in its directory: submitter and executor may die, and another process continues from the
 * record. Every change is a compare-and-set, so only one of two claims succeeds.
 *
 * <p><b>Life.</b> {@link #submit} → WANTED → {@link #claim} → RUNNING → {@link #progress} → {@link #finish} → DONE or
 * FAILED; {@link #cancel} → FAILED. A running order may be claimed again when its executor has died, which the claimer must know. <b>Bounds.</b>
 * {@value #OPEN_MAX} open orders, and the last {@value #ENDED_KEPT} ended ones. The record is then at most 128 × (512 B
 * name, escaped twice as long, + 1200 B note + 800 B other) = 390 KB, which {@link ClusterDirectory#RECORD_BYTES_MAX}
 * allows.
 *
 * <p><b>Threads.</b> Any; every method blocks up to its deadline, and must not be called from a {@link DirectoryListener}
 * or a {@link #watch} callback. <b>Errors.</b> {@link ClusterUnavailableException} as in the directory. Repeating a
 * submission is safe: it returns the open order for the same task. After an error in any other method, {@link #find}
 * returns the outcome.
 */
public final class Orders {
    /** How many orders may be open at a time. */
    public static final int OPEN_MAX = 64;

    /** How many ended orders are kept. */
    public static final int ENDED_KEPT = 64;

    /** The note of a cancelled order. */
    public static final String CANCELLED = "cancelled";

    private static final String RECORD = ClusterDirectory.INTERNAL_PREFIX + "orders/book";
    private static final JsonMapper JSON = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES) // newer versions may add fields
            .build();

    private final ClusterDirectory directory;

    /** @param directory still owned by the caller */
    public Orders(ClusterDirectory directory) {
        this.directory = directory;
    }

    /** Reads all orders and the names of the nodes being drained. */
    public OrderBook read(Duration deadline) {
        return directory.read(RECORD, deadline).map(Orders::decode).orElse(OrderBook.EMPTY);
    }

    /** Reads all kept orders, in the order of their ids. */
    public List<Order> list(Duration deadline) {
        return read(deadline).orders().stream()
                .sorted(Comparator.comparingLong(Order::id))
                .toList();
    }

    /** Reads the order with this id; empty when it never existed or ended long ago. */
    public Optional<Order> find(long id, Duration deadline) {
        return read(deadline).find(id);
    }

    /**
     * Calls {@code changed} soon, and then whenever the order book may have changed; see {@link ClusterDirectory#watch}.
     *
     * @param changed must not block
     */
    public void watch(Runnable changed) {
        directory.watch(RECORD, changed);
    }

    /**
     * Orders a drain of a node, and marks the node immediately, so that nothing new is placed there.
     *
     * @param leave whether its process ends when it is empty
     * @throws NodeUnreachableException when no live node has this name
     * @throws LimitExceededException when {@value #OPEN_MAX} orders are open
     */
    public Order drain(String node, boolean leave, Duration deadline) {
        requireLive(node, deadline);
        Order order = wanted(Kind.DRAIN, node, 0, "", leave);
        return submit(order, deadline, marks -> marks.add(node));
    }

    /**
     * Orders a drain of the calling node before it leaves. The order is claimed from the beginning: if the node
     * is killed, its next process finds an order that a former process began, and ends it.
     *
     * @param incarnation of the calling node
     */
    public Order drainToLeave(String node, long incarnation, Duration deadline) {
        requireLive(node, deadline);
        Order order = wanted(Kind.DRAIN, node, 0, "", true).claimedBy(node, incarnation);
        return submit(order, deadline, marks -> marks.add(node));
    }

    /** Ends a drain, finished or not: the node is used again. The returned order is done. */
    public Order undrain(String node, Duration deadline) {
        NodeAdvert.checkName(node);
        Order order = wanted(Kind.UNDRAIN, node, 0, "", false).with(State.DONE, 0, 0, "");
        Changed changed = change(deadline, book -> {
            List<Order> orders = new ArrayList<>();
            for (Order other : book.orders()) {
                orders.add(
                        isOpenDrain(other, node)
                                ? other.with(State.FAILED, other.done(), other.total(), "undrained")
                                : other);
            }
            orders.add(order.numbered(book.nextId()));
            SortedSet<String> marks = new TreeSet<>(book.draining());
            marks.remove(node);
            return new OrderBook(book.nextId() + 1, orders, marks);
        });
        return changed.after().orders().getLast();
    }

    /**
     * Orders a move of a named LMR to a node.
     *
     * @throws NodeUnreachableException when no live node has this name
     * @throws LimitExceededException when {@value #OPEN_MAX} orders are open
     */
    public Order move(String lmr, String node, Duration deadline) {
        LmrSpec.checkName(lmr);
        requireLive(node, deadline);
        return submit(wanted(Kind.MOVE, lmr, 0, node, false), deadline, marks -> {});
    }

    /** Like {@link #move(String, String, Duration)}, for an LMR without a name. */
    public Order move(long lmrId, String node, Duration deadline) {
        requireLive(node, deadline);
        if (lmrId == 0) {
            throw new IllegalArgumentException("no LMR has the id 0");
        }
        return submit(wanted(Kind.MOVE, "", lmrId, node, false), deadline, marks -> {});
    }

    /** Orders a node to free its orphans: memory whose LMR no longer exists. */
    public Order freeOrphans(String node, Duration deadline) {
        requireLive(node, deadline);
        return submit(wanted(Kind.FREE_ORPHANS, node, 0, "", false), deadline, marks -> {});
    }

    /** Orders moves of LMRs from fuller to emptier nodes. */
    public Order rebalance(Duration deadline) {
        return submit(wanted(Kind.REBALANCE, "", 0, "", false), deadline, marks -> {});
    }

    private static Order wanted(Kind kind, String subject, long lmrId, String target, boolean leave) {
        long now = System.currentTimeMillis();
        return new Order(0, kind, subject, lmrId, target, leave, State.WANTED, null, 0, 0, 0, "", now, now);
    }

    private void requireLive(String node, Duration deadline) {
        NodeAdvert.checkName(node);
        List<NodeRecord> live = directory.nodesNow(deadline);
        if (live.stream().noneMatch(record -> record.name().equals(node))) {
            throw new NodeUnreachableException("node \"%s\" is not live; the live nodes are %s"
                    .formatted(node, live.stream().map(NodeRecord::name).toList()));
        }
    }

    private interface Marking {
        void mark(SortedSet<String> draining);
    }

    private Order submit(Order order, Duration deadline, Marking marking) {
        Changed changed = change(deadline, book -> {
            SortedSet<String> marks = new TreeSet<>(book.draining());
            marking.mark(marks);
            List<Order> orders = new ArrayList<>(book.orders());
            if (book.open().stream().anyMatch(order::wantsTheSame)) {
                return new OrderBook(book.nextId(), orders, marks);
            }
            int open = book.open().size();
            if (open >= OPEN_MAX) {
                throw new LimitExceededException(
                        "%d orders are open; the limit is %d: wait until one has ended".formatted(open, OPEN_MAX));
            }
            orders.add(order.numbered(book.nextId()));
            return new OrderBook(book.nextId() + 1, orders, marks);
        });
        return changed.after().open().stream()
                .filter(order::wantsTheSame)
                .findFirst()
                .orElseThrow();
    }

    /**
     * Claims an order if it has not changed since {@code seen}.
     *
     * @param seen an order that is WANTED, or RUNNING on a dead node or on this one
     * @return the claimed order; empty when it has changed
     */
    public Optional<Order> claim(Order seen, String node, long incarnation, Duration deadline) {
        if (seen.state().isFinal()) {
            throw new IllegalArgumentException("order %d is %s".formatted(seen.id(), seen.state()));
        }
        return replace(seen::equals, seen.claimedBy(node, incarnation), null, deadline);
    }

    /**
     * Records the progress of an order if it still has the claim of {@code seen}. Only the claimer records progress, so
     * a change whose answer was lost is never taken for a change by another process.
     *
     * @return the updated order; empty when another process changed it, so that the executor should stop
     */
    public Optional<Order> progress(Order seen, long done, long total, String note, Duration deadline) {
        return replace(seen::isSameClaim, seen.with(seen.state(), done, total, note), null, deadline);
    }

    /**
     * Ends an order if it still has the claim of {@code seen}. May be repeated after an error.
     *
     * @param failure why it failed; null when it is done
     * @return the ended order; empty when another process changed it
     */
    public Optional<Order> finish(Order seen, @Nullable String failure, Duration deadline) {
        Order ended = failure == null
                ? seen.with(State.DONE, seen.done(), seen.total(), seen.note())
                : seen.with(State.FAILED, seen.done(), seen.total(), failure);
        // After the last failed drain the node is used again.
        boolean unmarks = failure != null && seen.kind() == Kind.DRAIN;
        // The end itself also matches, so that a repetition finds an end whose answer was lost.
        return replace(
                order -> seen.isSameClaim(order)
                        || (ended.isSameClaim(order) && ended.note().equals(order.note())),
                ended,
                unmarks ? seen.subject() : null,
                deadline);
    }

    /**
     * Cancels an open order: it ends as FAILED with the note {@value #CANCELLED}. The node that executes it stops at its next
     * step and undoes the move of an LMR that is under way, so every LMR is whole at its old or its new place. What was moved
     * before stays moved. After the last drain of a node is cancelled, the node is used again.
     *
     * @return the order, unchanged if it has ended; empty when it never existed or ended long ago
     */
    public Optional<Order> cancel(long id, Duration deadline) {
        Changed changed = change(deadline, book -> {
            Optional<Order> found = book.find(id);
            if (found.isEmpty() || found.get().state().isFinal()) {
                return book;
            }
            Order open = found.get();
            Order cancelled = open.with(State.FAILED, open.done(), open.total(), CANCELLED);
            List<Order> orders = new ArrayList<>(book.orders());
            orders.replaceAll(order -> order.id() == id ? cancelled : order);
            SortedSet<String> marks = new TreeSet<>(book.draining());
            if (open.kind() == Kind.DRAIN && orders.stream().noneMatch(order -> isOpenDrain(order, open.subject()))) {
                marks.remove(open.subject());
            }
            return new OrderBook(book.nextId(), orders, marks);
        });
        return changed.after().find(id);
    }

    private static boolean isOpenDrain(Order order, String node) {
        return order.kind() == Kind.DRAIN
                && order.subject().equals(node)
                && !order.state().isFinal();
    }

    /** Removes the drain mark of a node; called by a starting node. */
    public void unmark(String node, Duration deadline) {
        if (read(deadline).draining().contains(node)) {
            change(deadline, book -> {
                SortedSet<String> marks = new TreeSet<>(book.draining());
                marks.remove(node);
                return new OrderBook(book.nextId(), book.orders(), marks);
            });
        }
    }

    private Optional<Order> replace(
            Predicate<Order> replaceable, Order next, @Nullable String unmarked, Duration deadline) {
        Changed changed = change(deadline, book -> {
            if (book.orders().stream().noneMatch(replaceable)) {
                return book;
            }
            List<Order> orders = new ArrayList<>(book.orders());
            orders.replaceAll(order -> replaceable.test(order) ? next : order);
            SortedSet<String> marks = new TreeSet<>(book.draining());
            if (unmarked != null && orders.stream().noneMatch(order -> isOpenDrain(order, unmarked))) {
                marks.remove(unmarked);
            }
            return new OrderBook(book.nextId(), orders, marks);
        });
        return changed.before().orders().stream().anyMatch(replaceable) ? Optional.of(next) : Optional.empty();
    }

    private record Changed(OrderBook before, OrderBook after) {}

    /** Retries a change until no other process was faster. */
    private Changed change(Duration duration, UnaryOperator<OrderBook> change) {
        Deadline deadline = Deadline.in(duration);
        while (true) {
            Optional<VersionedRecord> found = directory.read(RECORD, remaining(deadline));
            OrderBook before = found.map(Orders::decode).orElse(OrderBook.EMPTY);
            OrderBook after = prune(endedLast(before, change.apply(before)));
            if (after.equals(before)) {
                return new Changed(before, before);
            }
            byte[] bytes = JSON.writeValueAsBytes(after);
            boolean changed = found.isPresent()
                    ? directory
                            .compareAndSet(RECORD, found.get().version(), bytes, remaining(deadline))
                            .isPresent()
                    : directory.create(RECORD, bytes, remaining(deadline));
            if (changed) {
                return new Changed(before, after);
            }
            if (deadline.remainingNs() == 0) {
                throw new ClusterUnavailableException(
                        "the orders are changing too fast; retried for %s".formatted(deadline));
            }
        }
    }

    private static Duration remaining(Deadline deadline) {
        return Duration.ofNanos(deadline.remainingNs());
    }

    /** Puts the orders that this change ended behind all others. */
    private static OrderBook endedLast(OrderBook before, OrderBook after) {
        List<Order> orders = new ArrayList<>(after.orders());
        orders.sort(Comparator.comparing(order -> order.state().isFinal() && !before.hasEnded(order.id()))); // stable
        return new OrderBook(after.nextId(), orders, after.draining());
    }

    /** Drops the orders that ended first. */
    private static OrderBook prune(OrderBook book) {
        int surplus = book.orders().size() - book.open().size() - ENDED_KEPT;
        if (surplus <= 0) {
            return book;
        }
        List<Order> kept = new ArrayList<>();
        for (Order order : book.orders()) {
            if (order.state().isFinal() && surplus > 0) {
                surplus--;
            } else {
                kept.add(order);
            }
        }
        return new OrderBook(book.nextId(), kept, book.draining());
    }

    private static OrderBook decode(VersionedRecord record) {
        try {
            return JSON.readValue(record.bytes(), OrderBook.class);
        } catch (JacksonException e) {
            throw new ClusterUnavailableException(
                    "the record of the orders cannot be read: " + e.getOriginalMessage(), e);
        }
    }
}
