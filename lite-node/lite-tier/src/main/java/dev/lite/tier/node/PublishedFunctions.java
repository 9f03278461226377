package dev.lite.tier.node;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.rpc.FunctionDirectory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes the functions of this node in the directory, and finds those of others. Any thread.
 *
 * <p>One virtual thread at a time writes the whole list. Changes that come meanwhile are in its next list, so a thousand new
 * functions need a few writes. Between two writes it waits, so that functions that come and go all the time take little of the
 * directory and of the nodes that follow it. It writes again after a failure, and after a new registration. While a node serves
 * nothing, it writes nothing.
 */
final class PublishedFunctions implements FunctionDirectory, DirectoryListener {
    private static final Logger log = LoggerFactory.getLogger(PublishedFunctions.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    /** Between two writes; the first change after that is written at once. */
    static final long PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long RETRY_NS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long RETRY_NS_MAX = TimeUnit.SECONDS.toNanos(2);

    private final ClusterDirectory directory;
    private final Supplier<NodeRecord> self;
    private final Executor executor;
    private final AtomicBoolean running = new AtomicBoolean();
    private volatile boolean wanted;
    private volatile @Nullable Supplier<Collection<String>> functions;
    // Confined to the running task.
    private boolean cutBefore;
    private boolean failedBefore;

    PublishedFunctions(ClusterDirectory directory, Supplier<NodeRecord> self, Executor executor) {
        this.directory = directory;
        this.self = self;
        this.executor = executor;
    }

    /**
     * Begins to publish.
     *
     * @param served the functions that this node serves now
     */
    void start(Supplier<Collection<String>> served) {
        functions = served;
        directory.addListener(this);
        if (wanted) {
            changed();
        }
    }

    @Override
    public void registeredAgain(NodeRecord registration) {
        Supplier<Collection<String>> served = functions;
        if (served != null && !served.get().isEmpty()) {
            changed();
        }
    }

    @Override
    public List<String> nodesServing(String function, Deadline deadline) {
        return directory.nodesServing(function, deadline.remaining());
    }

    @Override
    public void changed() {
        wanted = true;
        if (functions != null && running.compareAndSet(false, true)) {
            try {
                executor.execute(this::run);
            } catch (RejectedExecutionException e) {
                log.trace("nothing is published: the node is stopping", e);
            }
        }
    }

    private void run() {
        long pauseNs = RETRY_NS_MIN;
        while (!Thread.currentThread().isInterrupted()) { // the end of the node interrupts
            wanted = false;
            if (!publish()) {
                wanted = true;
                Polling.sleepNs(pauseNs);
                pauseNs = Math.min(2 * pauseNs, RETRY_NS_MAX);
            } else {
                pauseNs = RETRY_NS_MIN;
                Polling.sleepNs(PAUSE_NS);
                if (wanted) {
                    continue;
                }
                running.set(false);
                // After that: either this thread sees wanted, or the one that set it sees that none runs.
                if (!wanted || !running.compareAndSet(false, true)) {
                    return;
                }
            }
        }
    }

    private boolean publish() {
        Supplier<Collection<String>> served = functions;
        try {
            return served == null || directory.publishFunctions(self.get(), fitting(served.get()), TIMEOUT);
        } catch (ClusterUnavailableException e) {
            log.debug("the functions of this node cannot be published yet", e);
        } catch (RuntimeException e) {
            if (!failedBefore) {
                log.warn("The functions of this node cannot be published yet; trying again", e);
            }
            failedBefore = true;
        }
        return false;
    }

    /** As many of the functions as the directory takes for one node. */
    private List<String> fitting(Collection<String> served) {
        List<String> fitting = new ArrayList<>(served.size());
        long bytes = 0;
        for (String function : served) {
            bytes += ClusterDirectory.functionBytes(function);
            if (bytes > ClusterDirectory.FUNCTIONS_BYTES_MAX) {
                break;
            }
            fitting.add(function);
        }
        boolean cut = fitting.size() < served.size();
        if (cut && !cutBefore) {
            log.warn(
                    "The names of {} functions are longer than {} bytes; calls to any node find {} of them here",
                    served.size(),
                    ClusterDirectory.FUNCTIONS_BYTES_MAX,
                    fitting.size());
        }
        cutBefore = cut;
        return fitting;
    }
}
