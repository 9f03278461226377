package dev.lite.cluster;

import dev.lite.cluster.Epoch.Member;
import dev.lite.cluster.Epoch.Removal;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leading manager's work on the membership: a change becomes a new {@link Epoch}; when every live node has acknowledged
 * it, its removals are fenced. Used by one thread. Keeps no state, so that a new leader continues where the last one
 * stopped.
 *
 * <p><b>Two managers that both believe they lead do no harm.</b> Each step is a compare-and-set of the whole epoch and
 * relies only on facts that cannot be undone: a removed incarnation has ended; a node has acknowledged; a node that
 * registers after the snapshot reads this epoch before it connects. Verifying leadership before each step only saves work.
 */
final class EpochKeeper {
    private static final Logger log = LoggerFactory.getLogger(EpochKeeper.class);

    private final EpochStore store;
    private final Predicate<Duration> leads;
    private boolean pending; // confined to the keeper's thread

    /** @param leads asks the directory within a deadline whether this process leads now */
    EpochKeeper(EpochStore store, Predicate<Duration> leads) {
        this.store = store;
        this.leads = leads;
    }

    /**
     * Performs at most one step. Blocks up to the deadline for each request to the directory.
     *
     * @return 1 when it performed a step, so that there may be more to do; else 0
     * @throws dev.lite.api.ClusterUnavailableException when the directory does not answer
     */
    int doWork(Duration deadline) {
        EpochStore.Snapshot seen = store.snapshot(deadline);
        Epoch epoch = seen.epoch();
        Optional<Epoch> changed = epoch.next(seen.live(), seen.known());
        // Acknowledgements count only if the live nodes are the members of the epoch.
        Optional<Epoch> next = changed.isPresent() ? changed : epoch.fencedBy(seen.acks());
        pending = !next.orElse(epoch).pending().isEmpty();
        if (next.isEmpty() || !leads.test(deadline)) {
            return 0;
        }
        if (!store.replace(seen, next.get(), deadline)) {
            return 1; // another manager was faster: check again
        }
        if (changed.isPresent()) {
            logChanged(epoch, next.get());
        } else {
            next.get().removals().stream()
                    .filter(removal -> !epoch.removals().contains(removal))
                    .forEach(EpochKeeper::logFenced);
        }
        return 1;
    }

    /** Whether acknowledgements were missing in the last step. */
    boolean isPending() {
        return pending;
    }

    private static void logChanged(Epoch before, Epoch now) {
        List<String> joined = now.members().stream()
                .filter(member -> !before.members().contains(member))
                .map(Member::toString)
                .toList();
        List<String> removed = now.removals().stream()
                .filter(removal -> removal.epoch() == now.number())
                .map(EpochKeeper::text)
                .toList();
        log.info(
                "epoch number={} members={} joined={} removed={}",
                now.number(),
                now.members().size(),
                joined,
                removed);
    }

    private static void logFenced(Removal removal) {
        log.info("fenced {} removed-in-epoch={}", text(removal), removal.epoch());
    }

    private static String text(Removal removal) {
        return "%s(id=%d,incarnation=%d)".formatted(removal.name(), removal.id(), removal.incarnation());
    }
}
