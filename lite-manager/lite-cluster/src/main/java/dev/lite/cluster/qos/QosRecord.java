package dev.lite.cluster.qos;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.VersionedRecord;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The cluster's policy in its directory. Managers change it, and every node follows it. Any thread; methods with a
 * deadline block up to it, and throw {@link ClusterUnavailableException} when the directory does not answer.
 */
public final class QosRecord {
    private static final String RECORD = ClusterDirectory.INTERNAL_PREFIX + "qos/policy";
    private static final JsonMapper JSON = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES) // newer versions may add fields
            .build();

    private final ClusterDirectory directory;

    /**
     * A policy and the number of its change.
     *
     * @param revision 0: the cluster never had a policy; grows with each change
     */
    public record Revision(long revision, QosPolicy policy) {
        /** Before the first change. */
        public static final Revision NONE = new Revision(0, QosPolicy.OFF);
    }

    /** @param directory still owned by the caller */
    public QosRecord(ClusterDirectory directory) {
        this.directory = directory;
    }

    /** Reads the policy. */
    public Revision read(Duration deadline) {
        return directory.read(RECORD, deadline).map(QosRecord::decode).orElse(Revision.NONE);
    }

    /**
     * Changes the policy. A change that changes nothing keeps the revision, so repeating a call is safe.
     *
     * @throws IllegalArgumentException with what, the value and the limit; the policy stays as it was
     */
    public Revision change(QosChange change, Duration duration) {
        Deadline deadline = Deadline.in(duration);
        while (true) {
            Optional<VersionedRecord> found = directory.read(RECORD, deadline.remaining());
            Revision before = found.map(QosRecord::decode).orElse(Revision.NONE);
            Revision after = new Revision(before.revision() + 1, change.applyTo(before.policy()));
            if (found.isPresent() && after.policy().equals(before.policy())) {
                return before;
            }
            byte[] bytes = JSON.writeValueAsBytes(after);
            boolean changed = found.isPresent()
                    ? directory
                            .compareAndSet(RECORD, found.get().version(), bytes, deadline.remaining())
                            .isPresent()
                    : directory.create(RECORD, bytes, deadline.remaining());
            if (changed) {
                return after;
            }
            if (deadline.passed()) {
                throw new ClusterUnavailableException(deadline.expired("changing the policy for quality of service"));
            }
        }
    }

    /**
     * Calls {@code changed} soon, and then whenever the policy may have changed; also after a lost connection. See {@link
     * ClusterDirectory#watch}.
     *
     * @param changed must not block
     */
    public void watch(Runnable changed) {
        directory.watch(RECORD, changed);
    }

    private static Revision decode(VersionedRecord record) {
        try {
            return JSON.readValue(record.bytes(), Revision.class);
        } catch (JacksonException e) {
            throw new ClusterUnavailableException(
                    "the record of the policy for quality of service cannot be read: " + e.getOriginalMessage(), e);
        }
    }
}
