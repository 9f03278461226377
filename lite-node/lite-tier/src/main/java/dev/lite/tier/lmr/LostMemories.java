package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.fabric.AddressRange;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.tier.peer.PeerLinks;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Unmaps the memories of nodes of this host that ended for good, such as embedded nodes: while one process has a memory mapped, the
 * system keeps all of it. First every operation is made to reach it through the fabric, which reports that its node is away. One
 * thread ("lite-unmap") looks once a second.
 */
final class LostMemories implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LostMemories.class);
    private static final long LOOK_NS = TimeUnit.SECONDS.toNanos(1);
    /** After an attempt that failed. Operations waited for it. */
    private static final long LOOK_NS_MAX = TimeUnit.SECONDS.toNanos(30);
    /** How long an attempt may hold up operations on LMRs with a part in the memory. */
    private static final Duration HOLD_UP = Duration.ofMillis(100);

    private static final Duration WORK_ENDS = Duration.ofSeconds(5);

    private final PeerLinks links;
    private final MappingChanges changes;
    private final LocalWork localWork;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread thread;
    private long lookNs = LOOK_NS; // confined to the thread

    LostMemories(PeerLinks links, MappingChanges changes, LocalWork localWork) {
        this.links = links;
        this.changes = changes;
        this.localWork = localWork;
        this.thread = RepeatingThread.unstarted("lite-unmap", this::step, log::error);
    }

    void start() {
        thread.start();
    }

    private boolean step() throws InterruptedException {
        if (closed.await(lookNs, TimeUnit.NANOSECONDS)) {
            return false;
        }
        lookNs = unmapAll() ? LOOK_NS : Math.min(2 * lookNs, LOOK_NS_MAX);
        return true;
    }

    /** False if an operation still uses one of them. */
    private boolean unmapAll() {
        List<AddressRange> lost = links.lostMemories();
        boolean all = true;
        for (AddressRange memory : lost) {
            try {
                changes.unmap(memory, Deadline.in(HOLD_UP));
                localWork.quiesceAll(Deadline.in(WORK_ENDS));
                links.unmap(memory);
                log.info("unmapped {} bytes of a node that has ended", memory.bytes());
            } catch (LiteException e) {
                log.debug("{} bytes of a node that has ended stay mapped for now: {}", memory.bytes(), e.getMessage());
                all = false;
            }
        }
        return all;
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
