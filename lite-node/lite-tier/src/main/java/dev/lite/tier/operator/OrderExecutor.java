package dev.lite.tier.operator;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.Order;
import dev.lite.cluster.Order.Kind;
import dev.lite.cluster.Order.State;
import dev.lite.cluster.OrderBook;
import dev.lite.cluster.Orders;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.lmr.DrainMarks;
import dev.lite.tier.lmr.LmrRecords;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executes this node's {@link Orders}. The node that an order names executes a drain or frees orphans; the creator of
 * an anonymous LMR executes its move; the first node to claim it executes any other order. If the executing node is
 * fenced and not back, another node claims its order. Two nodes may execute the same order for a while: every action is safe when
 * repeated. A cancelled order has ended in the record; its action stops at its next step, after undoing a move of an LMR that is under
 * way.
 *
 * <p>One thread ("lite-orders") checks and claims orders. Each order runs on a virtual thread. Limit: {@value
 * #RUNNING_MAX} at a time.
 */
public final class OrderExecutor implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(OrderExecutor.class);
    private static final int RUNNING_MAX = 8;
    private static final Duration DIRECTORY = Duration.ofSeconds(5);

    /** Check interval while orders are open: no notification tells that an order's node is gone. */
    private static final long LOOK_NS = TimeUnit.SECONDS.toNanos(2);

    /**
     * Check interval otherwise, in case a notification was lost. Long, so that idle nodes put no load on the directory.
     */
    private static final long LOOK_IDLE_NS = TimeUnit.MINUTES.toNanos(1);

    /** How long the node is alone before it gives up a drain: others may only be registering again. */
    private static final long ALONE_NS = TimeUnit.SECONDS.toNanos(1);

    /** Time that an order of no particular node is reserved for the node whose turn it is. */
    private static final long TURN_NS = TimeUnit.SECONDS.toNanos(1);

    /** Time limit of a drain that an operator orders. A drain before the node leaves has its own timeout. */
    private static final Duration DRAIN_MAX = Duration.ofHours(1);

    /** If only one node can execute an order, the order fails after that node was missing for this time. */
    private static final long MISSING_NS = TimeUnit.SECONDS.toNanos(60);

    private static final long REPORT_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private final NodeRecord self; // as registered at the start
    private final Supplier<NodeRecord> registration;
    private final ClusterDirectory directory;
    private final Orders orders;
    private final DrainMarks drainMarks;
    private final Actions actions;
    private final Executor executor;
    private final Thread thread;
    private final Map<Long, Reporter> running = new ConcurrentHashMap<>();
    private final Map<Long, CompletableFuture<Order>> awaited = new ConcurrentHashMap<>();
    private final Map<Long, Long> seenAtNs = new HashMap<>(); // of the thread: open orders, by first sight
    private final Map<Long, Long> missingSinceNs = new HashMap<>(); // of the thread: orders of missing nodes

    private final Semaphore words = new Semaphore(0); // a permit for every call of check() since the thread's last one
    private boolean busy = true; // thread-confined: orders are open, or may be
    private boolean pastSettled; // thread-confined
    private volatile @Nullable Deadline ofLeaving; // set when this node is about to leave
    private volatile boolean empty; // drained to leave
    private volatile @Nullable Runnable onLeave;
    private volatile boolean closed;

    /** The actions of orders. Each blocks and returns null on success, else the reason of the failure. */
    interface Actions {
        @Nullable
        String drain(boolean leaving, Drain.Progress progress, Deadline deadline);

        @Nullable
        String move(@Nullable String name, long id, String node, BooleanSupplier wanted);

        @Nullable
        String freeOrphans(Drain.Progress progress);

        @Nullable
        String rebalance(Drain.Progress progress);
    }

    /**
     * Does not start yet; see {@link #start}.
     *
     * @param registration this node's current or last registration
     */
    public OrderExecutor(
            Supplier<NodeRecord> registration,
            ClusterDirectory directory,
            DrainMarks drainMarks,
            Actions actions,
            Executor executor) {
        this.self = registration.get();
        this.registration = registration;
        this.directory = directory;
        this.orders = new Orders(directory);
        this.drainMarks = drainMarks;
        this.actions = actions;
        this.executor = executor;
        this.thread = RepeatingThread.unstarted("lite-orders", this::step, log::error);
    }

    /** Starts to execute orders. */
    public void start() {
        thread.start();
        orders.watch(this::check);
    }

    /** Sets an action to run after a drain that orders this node to leave. It runs on its own thread. */
    public void onLeave(Runnable action) {
        onLeave = action;
    }

    /** Makes the thread check the orders soon. Does not block. */
    private void check() {
        words.release();
    }

    /**
     * Drains this node before it leaves. If that fails, the node stays and obeys further orders.
     *
     * @return null if the node is empty, else the reason why not
     */
    @Nullable
    public String drainToLeave(Duration timeout) {
        if (isAlone()) {
            return Drain.NOBODY;
        }
        if (empty) {
            return null;
        }
        Deadline deadline = Deadline.in(timeout);
        Runnable leave = onLeave;
        ofLeaving = deadline;
        onLeave = null; // the caller leaves
        String failure = "failed";
        try {
            failure = drainUntil(deadline);
        } finally {
            if (failure != null) {
                ofLeaving = null;
                onLeave = leave;
            }
        }
        return failure;
    }

    private @Nullable String drainUntil(Deadline deadline) {
        try {
            Order order = orders.drainToLeave(self.name(), registration.get().incarnation(), deadline.remaining());
            CompletableFuture<Order> end = awaited.computeIfAbsent(order.id(), id -> new CompletableFuture<>());
            orders.find(order.id(), deadline.remaining())
                    .filter(now -> now.state().isFinal())
                    .ifPresent(end::complete); // it ended before it was awaited
            check();
            try {
                Optional<Order> ended = awaitEnd(end, deadline);
                if (ended.isPresent()) {
                    return ended.get().state() == State.DONE
                            ? null
                            : ended.get().note();
                }
                Optional<Order> unused = orders.cancel(order.id(), DIRECTORY); // nobody waits for it any more
                return deadline.passed()
                        ? new LiteTimeoutException(deadline.expired("draining node " + self.name())).getMessage()
                        : Drain.NOBODY;
            } finally {
                awaited.remove(order.id(), end);
            }
        } catch (LiteException e) {
            return e.getMessage();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "interrupted";
        } catch (ExecutionException e) {
            throw new AssertionError("the future of an order never fails", e);
        }
    }

    /** Waits for the end of an order. Empty at the deadline, or if all other nodes have left meanwhile, as when a cluster ends. */
    private Optional<Order> awaitEnd(CompletableFuture<Order> end, Deadline deadline)
            throws InterruptedException, ExecutionException {
        boolean alone = false;
        while (!deadline.passed()) {
            try {
                return Optional.of(end.get(Math.min(ALONE_NS, deadline.remainingNs()), TimeUnit.NANOSECONDS));
            } catch (TimeoutException e) {
                boolean stillAlone = alone;
                alone = isAlone();
                if (alone && stillAlone) {
                    break;
                }
            }
        }
        return Optional.empty();
    }

    private boolean isAlone() {
        return directory.nodes().stream().allMatch(node -> node.id() == self.id());
    }

    /** Waits for a notification or the check interval, then checks the orders; false if this object is closed. */
    private boolean step() throws InterruptedException {
        if (words.tryAcquire(busy ? LOOK_NS : LOOK_IDLE_NS, TimeUnit.NANOSECONDS)) {
            words.drainPermits(); // one check sees everything before it
        }
        if (closed) {
            return false;
        }
        busy = true;
        try {
            OrderBook book = orders.read(DIRECTORY);
            settleOwnPast(book);
            drainMarks.update(book.draining());
            dispatch(book);
            busy = !book.open().isEmpty();
        } catch (ClusterUnavailableException e) {
            log.debug("cannot read the orders now: {}", e.getMessage());
        }
        return true;
    }

    /**
     * Ends a running order to leave and the drain mark that an earlier process of this node left: a new process is
     * usable.
     */
    private void settleOwnPast(OrderBook book) {
        if (pastSettled || ofLeaving != null) {
            return;
        }
        boolean stays = false;
        for (Order order : book.open()) {
            if (isDrainOfThis(order) && order.leave() && order.state() == State.RUNNING) {
                Optional<Order> unused =
                        orders.finish(order, "the node was started again before it was empty", DIRECTORY);
            } else {
                stays |= isDrainOfThis(order);
            }
        }
        if (!stays) {
            orders.unmark(self.name(), DIRECTORY);
        }
        pastSettled = true;
        check(); // reads the changed orders
    }

    private boolean isDrainOfThis(Order order) {
        return order.kind() == Kind.DRAIN && order.subject().equals(self.name());
    }

    private void dispatch(OrderBook book) {
        List<Order> open = book.open();
        seenAtNs.keySet().retainAll(open.stream().map(Order::id).toList());
        missingSinceNs.keySet().retainAll(open.stream().map(Order::id).toList());
        running.forEach((id, reporter) -> {
            if (open.stream().noneMatch(order -> order.id() == id)) {
                reporter.withdraw(); // cancelled, or just ended
            }
        });
        boolean drains = false;
        for (Order order : open) {
            if (failsForMissing(order)) {
                continue;
            }
            drains |= isDrainOfThis(order);
            if (order.kind() == Kind.DRAIN && running.values().stream().anyMatch(Reporter::drains)) {
                continue; // the end of a cancelled one opens the arena again; the next one begins after that
            }
            if (!running.containsKey(order.id()) && running.size() < RUNNING_MAX && isMine(order)) {
                orders.claim(order, self.name(), registration.get().incarnation(), DIRECTORY)
                        .ifPresent(this::begin);
            }
        }
        if (!drains && !book.draining().contains(self.name()) && ofLeaving == null) {
            empty = false;
            drainMarks.reopen();
        }
    }

    /** Fails an order that no node can execute, because the number of open orders is limited. */
    private boolean failsForMissing(Order order) {
        boolean byId = order.kind() == Kind.MOVE && order.lmrId() != 0;
        boolean byName = order.kind() == Kind.DRAIN || order.kind() == Kind.FREE_ORPHANS;
        List<NodeRecord> live = directory.nodes();
        boolean missing = live.stream().anyMatch(node -> node.id() == self.id())
                && (byId || byName)
                && live.stream()
                        .noneMatch(node -> byId
                                ? node.id() == LmrRecords.creator(order.lmrId())
                                : node.name().equals(order.subject()));
        if (!missing) {
            missingSinceNs.remove(order.id());
            return false;
        }
        long nowNs = System.nanoTime();
        long sinceNs = missingSinceNs.computeIfAbsent(order.id(), id -> nowNs);
        if (nowNs - sinceNs > MISSING_NS) {
            String who = byId ? "node " + LmrRecords.creator(order.lmrId()) : "node \"%s\"".formatted(order.subject());
            Optional<Order> unused =
                    orders.finish(order, who + ", which alone could do it, is no live node", DIRECTORY);
        }
        return true;
    }

    private boolean isMine(Order order) {
        if (order.kind() == Kind.DRAIN || order.kind() == Kind.FREE_ORPHANS) {
            return order.subject().equals(self.name());
        }
        if (order.kind() == Kind.MOVE && order.lmrId() != 0) {
            return LmrRecords.creator(order.lmrId()) == self.id();
        }
        if (order.state() == State.RUNNING) {
            return self.name().equals(order.executor()) || isGone(order);
        }
        long nowNs = System.nanoTime();
        long seenNs = seenAtNs.computeIfAbsent(order.id(), id -> nowNs);
        List<NodeRecord> live = directory.nodes();
        boolean turn =
                !live.isEmpty() && live.get((int) (order.id() % live.size())).id() == self.id();
        return turn || nowNs - seenNs > TURN_NS;
    }

    /**
     * Whether the node that claimed an order is fenced and not back. A process that lost its session and registered again continues its
     * orders, and a restarted node claims the orders of its former process itself. A claim may name a former incarnation, because a
     * process learns of its own registrations late. So the node's last incarnation counts.
     */
    private boolean isGone(Order order) {
        return directory.epoch().removals().stream()
                .filter(removal -> removal.fenced() && removal.name().equals(order.executor()))
                .filter(removal -> removal.incarnation() >= order.incarnation())
                .anyMatch(removal -> removal.incarnation()
                        >= directory.incarnationsNow(DIRECTORY).getOrDefault(removal.id(), 0L));
    }

    private void begin(Order order) {
        Reporter reporter = new Reporter(order);
        running.put(order.id(), reporter);
        try {
            executor.execute(() -> carryOut(order, reporter));
        } catch (RejectedExecutionException e) {
            running.remove(order.id());
            log.debug("order {} is not executed: the node is stopping", order.id());
        }
    }

    private void carryOut(Order order, Reporter reporter) {
        log.info(
                "order begins id={} kind={} subject={} target={}",
                order.id(),
                order.kind(),
                order.subject(),
                order.target());
        long startNs = System.nanoTime();
        String failure;
        boolean done = false;
        try {
            failure = act(order, reporter);
        } catch (LiteException e) {
            failure = e.getMessage();
        } catch (RuntimeException | Error e) { // the order ends as FAILED, whatever it was
            Unrecoverable.report(e);
            log.error("order {} failed", order.id(), e);
            failure = e.toString();
        }
        try {
            Order ended = recordEnd(order, reporter, failure);
            done = ended.state() == State.DONE;
            Optional.ofNullable(awaited.remove(order.id())).ifPresent(who -> who.complete(ended));
        } catch (ClusterUnavailableException e) {
            // Another node claims the order once this one is gone; an action without remaining work does nothing.
            log.info("cannot record the end of order {}: {}", order.id(), e.getMessage());
        } finally {
            running.remove(order.id());
            log.info(
                    "order ends id={} kind={} ms={} {}",
                    order.id(),
                    order.kind(),
                    (System.nanoTime() - startNs) / 1_000_000,
                    failure == null ? "done" : "failure=\"" + failure + "\"");
            check();
        }
        Runnable leave = onLeave;
        if (order.kind() == Kind.DRAIN && order.leave() && done && leave != null) { // not if it was cancelled meanwhile
            Thread unused = Thread.ofPlatform().name("lite-leave").start(leave);
        }
    }

    /**
     * Records the end of an order. Tries again while the directory does not answer, until this node closes: to execute
     * the order again could end otherwise.
     */
    private Order recordEnd(Order order, Reporter reporter, @Nullable String failure) {
        while (true) {
            try {
                return reporter.finish(failure)
                        .or(() -> orders.find(order.id(), DIRECTORY)) // another node ended it
                        .orElse(order);
            } catch (ClusterUnavailableException e) {
                if (closed || Thread.currentThread().isInterrupted()) {
                    throw e;
                }
                log.info("cannot record the end of order {} yet: {}", order.id(), e.getMessage());
                Polling.sleepNs(REPORT_NS);
            }
        }
    }

    private @Nullable String act(Order order, Reporter reporter) {
        String name = order.lmrId() == 0 ? order.subject() : null;
        return switch (order.kind()) {
            case DRAIN -> drain(order.leave(), reporter);
            case MOVE -> actions.move(name, order.lmrId(), order.target(), reporter::isWanted);
            case FREE_ORPHANS -> actions.freeOrphans(reporter);
            case REBALANCE -> actions.rebalance(reporter);
            case UNDRAIN -> null; // its submission already did the work
        };
    }

    private @Nullable String drain(boolean leaving, Drain.Progress progress) {
        Deadline leave = ofLeaving;
        drainMarks.close();
        boolean done = false;
        try {
            String failure = actions.drain(leaving, progress, leave != null ? leave : Deadline.in(DRAIN_MAX));
            done = failure == null;
            empty |= done && leaving;
            return failure;
        } finally {
            if (!done) {
                drainMarks.reopen();
            }
        }
    }

    /** Records an order's progress at intervals. Used by the thread that executes the order, except where noted. */
    private final class Reporter implements Drain.Progress {
        private final Kind kind;
        private Order order;
        private long nextNs = System.nanoTime();
        private long latestDone;
        private long latestTotal;
        private String latestNote = "";
        private boolean unwritten;
        private volatile boolean withdrawn;

        Reporter(Order order) {
            this.kind = order.kind();
            this.order = order;
        }

        /** Any thread. */
        boolean drains() {
            return kind == Kind.DRAIN;
        }

        /** Makes the action stop at its next step. Any thread. */
        void withdraw() {
            withdrawn = true;
        }

        @Override
        public boolean isWanted() {
            return !withdrawn;
        }

        @Override
        public boolean report(long done, long total, String note) {
            if (closed || withdrawn) {
                return false;
            }
            latestDone = done;
            latestTotal = total;
            latestNote = note;
            unwritten = true;
            if (System.nanoTime() - nextNs < 0) {
                return true;
            }
            try {
                boolean mine = write();
                nextNs = System.nanoTime() + REPORT_NS;
                return mine;
            } catch (ClusterUnavailableException e) {
                log.debug("cannot record the progress of order {} now: {}", order.id(), e.getMessage());
                return true;
            }
        }

        private boolean write() {
            Optional<Order> now = orders.progress(order, latestDone, latestTotal, latestNote, DIRECTORY);
            now.ifPresent(current -> order = current);
            unwritten = now.isEmpty();
            return now.isPresent();
        }

        /** Ends the order and records its progress; empty if another node changed it. */
        Optional<Order> finish(@Nullable String failure) {
            boolean mine = !unwritten || write();
            return mine ? orders.finish(order, failure, DIRECTORY) : Optional.empty();
        }
    }

    /** Ends the thread. A running order ends at its next progress report. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
