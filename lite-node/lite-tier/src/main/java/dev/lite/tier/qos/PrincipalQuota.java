package dev.lite.tier.qos;

import dev.lite.cluster.qos.QosPolicy.Quota;
import dev.lite.os.waiting.Deadline;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** The quota of one principal at this node, which its sessions share. Any thread; {@link #refill} by one thread. */
final class PrincipalQuota {
    final Quota quota;
    private final Limiter bytes;
    private final Limiter operations;

    PrincipalQuota(Quota quota, LongFunction<Permits> source) {
        this.quota = quota;
        bytes = limiter(quota.bytesPerSecond(), source);
        operations = limiter(quota.operationsPerSecond(), source);
    }

    private static Limiter limiter(@Nullable Long perSecond, LongFunction<Permits> source) {
        Limiter limiter = new Limiter(source);
        if (perSecond != null) {
            limiter.limit(perSecond);
        }
        return limiter;
    }

    void refill() {
        bytes.refill();
        operations.refill();
    }

    /** What one session has of the quota. Any thread. */
    static final class Share {
        final Quota quota;
        private final Account bytes;
        private final Account operations;

        private Share(PrincipalQuota of, Object application) {
            quota = of.quota;
            bytes = new Account(of.bytes, application);
            operations = new Account(of.operations, application);
        }

        boolean tryTake(long cost) {
            if (!operations.tryTake(1)) {
                return false;
            }
            if (bytes.tryTake(cost)) {
                return true;
            }
            operations.giveBack(1);
            return false;
        }

        boolean take(long cost, Deadline deadline) {
            if (!operations.take(1, deadline)) {
                return false;
            }
            if (bytes.take(cost, deadline)) {
                return true;
            }
            operations.giveBack(1);
            return false;
        }

        void giveBack(long cost) {
            operations.giveBack(1);
            bytes.giveBack(cost);
        }
    }

    Share share(Object application) {
        return new Share(this, application);
    }

    /** Ends the limits; waiting operations continue. */
    void end() {
        bytes.unlimit();
        operations.unlimit();
    }

    void forget(Object application) {
        bytes.forget(application);
        operations.forget(application);
    }
}
