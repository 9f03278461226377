package dev.lite.cluster;

/**
 * A record of a name and its version.
 *
 * @param bytes the record; the caller's own copy
 * @param version for {@link ClusterDirectory#compareAndSet} and {@link ClusterDirectory#delete}
 */
public record VersionedRecord(byte[] bytes, int version) {}
