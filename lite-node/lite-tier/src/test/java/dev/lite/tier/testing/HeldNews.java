package dev.lite.tier.testing;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.Epoch;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.UnreadableRecordException;
import dev.lite.cluster.VersionedRecord;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A directory whose news a test can hold back, each kind by itself. ZooKeeper promises no order between the list of
 * nodes, the epoch and a session's end. What is read with a deadline is never held back. Any thread.
 */
public final class HeldNews implements ClusterDirectory {
    private final ClusterDirectory directory;
    private final List<Runnable> heldNodes = new ArrayList<>(); // guarded by this
    private final List<Runnable> heldRegistrations = new ArrayList<>(); // guarded by this
    private List<NodeRecord> lastNodes = List.of(); // guarded by this
    private boolean holdsNodes; // guarded by this
    private boolean holdsRegistrations; // guarded by this
    private boolean losesAnswer; // guarded by this
    private boolean failsListing; // guarded by this
    private boolean delaysChange; // guarded by this
    private @Nullable Supplier<Boolean> delayed; // guarded by this
    private volatile @Nullable HeldAnswer heldAnswer;
    private volatile String refusedName = "";
    private volatile String unreadableName = "";
    private final AtomicInteger unreadableReads = new AtomicInteger();
    private String lostName = ""; // guarded by this
    private int lostReads; // guarded by this
    private int failedReads; // guarded by this
    private volatile String taskName = "";
    private volatile @Nullable Runnable afterCreate;
    private volatile String changedName = "";
    private volatile @Nullable Runnable beforeChange;
    private volatile int refusals;

    /** @param directory still owned by the caller */
    public HeldNews(ClusterDirectory directory) {
        this.directory = directory;
    }

    /** A node that sees its directory through {@code news}. */
    public record Started(LiteNode node, HeldNews news) {}

    /** Starts such a node. */
    public static Started start(TestCluster cluster, LiteNodeConfig config) {
        AtomicReference<@Nullable HeldNews> seen = new AtomicReference<>();
        LiteNode node = cluster.start(config, directory -> {
            HeldNews news = new HeldNews(directory);
            seen.set(news);
            return news;
        });
        return new Started(node, Objects.requireNonNull(seen.get()));
    }

    /** Holds back the lists of nodes from now on. */
    public synchronized void holdNodes() {
        lastNodes = directory.nodes();
        holdsNodes = true;
    }

    /** Holds back the news of this process's next registrations from now on. */
    public synchronized void holdRegistrations() {
        holdsRegistrations = true;
    }

    /**
     * Holds back an answer that this thread gets to a read of a moving LMR's record.
     *
     * @param before how many such answers it gets before
     */
    public HeldAnswer holdMovingRecord(Thread reader, int before) {
        HeldAnswer answer = new HeldAnswer(reader, before);
        heldAnswer = answer;
        return answer;
    }

    /** An answer that is held back. */
    public static final class HeldAnswer {
        private final Thread reader;
        private int before; // of the reader
        private final CountDownLatch held = new CountDownLatch(1);
        private final CountDownLatch released = new CountDownLatch(1);

        private HeldAnswer(Thread reader, int before) {
            this.reader = reader;
            this.before = before;
        }

        /** Whether the reader waits for it. */
        public boolean isHeld() {
            return held.getCount() == 0;
        }

        /** Lets the reader have it. */
        public void release() {
            released.countDown();
        }

        private void hold() {
            if (before-- != 0) {
                return;
            }
            held.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Fails the next listing of names, as if the connection were lost. */
    public synchronized void failNextListing() {
        failsListing = true;
    }

    private synchronized boolean failsThisListing() {
        boolean fails = failsListing;
        failsListing = false;
        return fails;
    }

    /** Loses the answer to the next compare-and-set, which is made. */
    public synchronized void loseNextAnswer() {
        losesAnswer = true;
    }

    /** Loses the answer to the next compare-and-set, which is made only by {@link #makeDelayedChange}. */
    public synchronized void delayNextChange() {
        delaysChange = true;
    }

    /** Makes the delayed change; returns whether it took effect. */
    public synchronized boolean makeDelayedChange() {
        return Objects.requireNonNull(delayed, "no change was delayed").get();
    }

    private synchronized boolean delays(Supplier<Boolean> change) {
        boolean delays = delaysChange;
        delaysChange = false;
        if (delays) {
            delayed = change;
        }
        return delays;
    }

    /** Runs a task when the record of a name exists, before its creator has the answer. */
    public void afterCreate(String name, Runnable task) {
        afterCreate = task;
        taskName = name;
    }

    /** Runs a task before the next change of the record of a name is made. */
    public void beforeChange(String name, Runnable task) {
        beforeChange = task;
        changedName = name;
    }

    /** Fails every change of the record of a name from now on. */
    public void refuseChangesOf(String name) {
        refusedName = name;
    }

    /** The record of a name cannot be read from now on, as if somebody without the cluster's secret had written it. */
    public void makeUnreadable(String name) {
        unreadableName = name;
    }

    /** Fails the next reads of the record of a name, as if the connection were lost. */
    public synchronized void failNextReads(String name, int count) {
        lostName = name;
        lostReads = count;
    }

    private synchronized boolean failsThisRead(String name) {
        boolean fails = name.equals(lostName) && lostReads-- > 0;
        if (fails) {
            failedReads++;
        }
        return fails;
    }

    /** How many reads have failed because of {@link #failNextReads}. */
    public synchronized int failedReads() {
        return failedReads;
    }

    /** How many reads failed because of {@link #makeUnreadable}. */
    public int unreadableReads() {
        return unreadableReads.get();
    }

    /** How many changes were refused. */
    public int refusals() {
        return refusals;
    }

    private synchronized void refuse(String name) {
        if (name.equals(refusedName)) {
            refusals++;
            throw new ClusterUnavailableException("refused by a test");
        }
    }

    private synchronized boolean losesThisAnswer() {
        boolean loses = losesAnswer;
        losesAnswer = false;
        return loses;
    }

    /** Delivers what was held back, and holds back nothing any more. */
    public synchronized void release() {
        holdsNodes = false;
        holdsRegistrations = false;
        heldNodes.forEach(Runnable::run);
        heldRegistrations.forEach(Runnable::run);
        heldNodes.clear();
        heldRegistrations.clear();
    }

    private synchronized void nodesChanged(DirectoryListener listener, List<NodeRecord> nodes) {
        if (holdsNodes) {
            heldNodes.add(() -> listener.nodesChanged(nodes));
        } else {
            listener.nodesChanged(nodes);
        }
    }

    private synchronized void registeredAgain(DirectoryListener listener, NodeRecord registration) {
        if (holdsRegistrations) {
            heldRegistrations.add(() -> listener.registeredAgain(registration));
        } else {
            listener.registeredAgain(registration);
        }
    }

    @Override
    public boolean publishFunctions(NodeRecord as, Collection<String> functions, Duration deadline) {
        return directory.publishFunctions(as, functions, deadline);
    }

    @Override
    public List<String> nodesServing(String function, Duration deadline) {
        return directory.nodesServing(function, deadline);
    }

    @Override
    public void addListener(DirectoryListener listener) {
        directory.addListener(new DirectoryListener() {
            @Override
            public void nodesChanged(List<NodeRecord> nodes) {
                HeldNews.this.nodesChanged(listener, nodes);
            }

            @Override
            public void epochChanged(Epoch epoch) {
                listener.epochChanged(epoch);
            }

            @Override
            public void availabilityChanged(boolean available) {
                listener.availabilityChanged(available);
            }

            @Override
            public void registrationLost() {
                listener.registrationLost();
            }

            @Override
            public void registeredAgain(NodeRecord registration) {
                HeldNews.this.registeredAgain(listener, registration);
            }

            @Override
            public void registrationRefused(String reason) {
                listener.registrationRefused(reason);
            }
        });
    }

    @Override
    public synchronized List<NodeRecord> nodes() {
        return holdsNodes ? lastNodes : directory.nodes();
    }

    @Override
    public int claimId(String name, int heldId, Duration deadline) {
        return directory.claimId(name, heldId, deadline);
    }

    @Override
    public NodeRecord register(NodeAdvert advert, Duration deadline) {
        return directory.register(advert, deadline);
    }

    @Override
    public void publishManagementUrl(String url) {
        directory.publishManagementUrl(url);
    }

    @Override
    public Map<String, String> managementUrls() {
        return directory.managementUrls();
    }

    @Override
    public List<NodeRecord> nodesNow(Duration deadline) {
        return directory.nodesNow(deadline);
    }

    @Override
    public Map<Integer, Long> incarnationsNow(Duration deadline) {
        return directory.incarnationsNow(deadline);
    }

    @Override
    public boolean isAvailable() {
        return directory.isAvailable();
    }

    @Override
    public Epoch epoch() {
        return directory.epoch();
    }

    @Override
    public Epoch epochNow(Duration deadline) {
        return directory.epochNow(deadline);
    }

    @Override
    public boolean acknowledge(NodeRecord as, long epoch, Duration deadline) {
        return directory.acknowledge(as, epoch, deadline);
    }

    @Override
    public boolean create(String name, byte[] record, Duration deadline) {
        refuse(name);
        boolean created = directory.create(name, record, deadline);
        Runnable task = name.equals(taskName) ? afterCreate : null;
        if (created && task != null) {
            task.run();
        }
        return created;
    }

    @Override
    public Optional<VersionedRecord> read(String name, Duration deadline) {
        if (name.equals(unreadableName)) {
            unreadableReads.incrementAndGet();
            throw new ClusterUnavailableException("unreadable by a test", new UnreadableRecordException(name));
        }
        if (failsThisRead(name)) {
            throw new ClusterUnavailableException("the connection is lost, by a test");
        }
        Optional<VersionedRecord> answer = directory.read(name, deadline);
        HeldAnswer held = heldAnswer;
        if (held != null
                && held.reader == Thread.currentThread()
                && answer.isPresent()
                && LmrRecord.decode(answer.get().bytes()).state() == LmrRecord.State.MOVING) {
            held.hold();
        }
        return answer;
    }

    @Override
    public Optional<Integer> compareAndSet(String name, int expectedVersion, byte[] record, Duration deadline) {
        refuse(name);
        Runnable task = name.equals(changedName) ? beforeChange : null;
        if (task != null) {
            changedName = "";
            task.run();
        }
        if (delays(() ->
                directory.compareAndSet(name, expectedVersion, record, deadline).isPresent())) {
            throw new ClusterUnavailableException("the change is late, by a test");
        }
        Optional<Integer> answer = directory.compareAndSet(name, expectedVersion, record, deadline);
        if (losesThisAnswer()) {
            throw new ClusterUnavailableException("the answer is lost, by a test");
        }
        return answer;
    }

    @Override
    public boolean delete(String name, int expectedVersion, Duration deadline) {
        refuse(name);
        return directory.delete(name, expectedVersion, deadline);
    }

    @Override
    public List<String> names(String prefix, String after, int limit, Duration deadline) {
        if (failsThisListing()) {
            throw new ClusterUnavailableException("the connection is lost, by a test");
        }
        return directory.names(prefix, after, limit, deadline);
    }

    @Override
    public void watch(String name, Runnable changed) {
        directory.watch(name, changed);
    }

    @Override
    public void close() {
        directory.close();
    }
}
