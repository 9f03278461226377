package dev.lite.cluster;

/**
 * The cause of a {@link dev.lite.api.ClusterUnavailableException} that concerns one record only: the directory answered,
 * but somebody without the cluster's secret wrote the record, or it is damaged.
 */
public final class UnreadableRecordException extends Exception {
    private static final long serialVersionUID = 1L;

    /** @param where the record */
    public UnreadableRecordException(String where) {
        super(where);
    }

    /** Whether this failure concerns one record only. */
    public static boolean isCauseOf(RuntimeException failure) {
        return failure.getCause() instanceof UnreadableRecordException;
    }
}
