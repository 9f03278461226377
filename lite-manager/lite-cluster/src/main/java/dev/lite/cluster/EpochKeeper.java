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
 * What the leading manager does about the membership, step by step: a change becomes a new {@link Epoch}; when every live
 * node has acknowledged, its removals are fenced. One thread; has no state, so that a manager that takes over goes on where
 * the other one stopped.
 *
 * <p><b>Why two managers that both believe they lead do no harm.</b> Each act is a compare-and-set of the whole epoch, and
 * rests on nothing that can be undone: that a removed incarnation is over; that a node acknowledged; that whoever registers
 * after the look reads this epoch before it makes a connection. That leadership is verified before each act only saves
 * work.
 */
final class EpochKeeper {
    private static final Logger log = LoggerFactory.getLogger(EpochKeeper.class);

    private final EpochStore store;
    private final Predicate<Duration> leads;
    private boolean pending; // confined to the keeper's thread

    /** @param leads asks the directory, within a deadline, whether this process leads now */
    EpochKeeper(EpochStore store, Predicate<Duration> leads) {
        this.store = store;
        this.leads = leads;
    }

    /**
     * Does what can be done now, at most one act. Blocks up to the deadline for each question to the directory.
     *
     * @return 1 when it did something, so that there may be more; else 0
     * @throws dev.lite.api.ClusterUnavailableException when the directory does not answer
     */
    int doWork(Duration deadline) {
        EpochStore.Snapshot seen = store.snapshot(deadline);
        Epoch epoch = seen.epoch();
        Optional<Epoch> changed = epoch.next(seen.live(), seen.known());
        // Acknowledgements are believed only when the live nodes are the ones that were asked.
        Optional<Epoch> next = changed.isPresent() ? changed : epoch.fencedBy(seen.acks());
        pending = !next.orElse(epoch).pending().isEmpty();
        if (next.isEmpty() || !leads.test(deadline)) {
            return 0;
        }
        if (!store.replace(seen, next.get(), deadline)) {
            return 1; // somebody was faster: look again
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

    /** Whether acknowledgements were missing at the last look. */
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
