package dev.lite.cluster;

/**
 * The record of a name and its version.
 *
 * @param bytes the record; a copy that the caller owns
 * @param version for {@link ClusterDirectory#compareAndSet} and {@link ClusterDirectory#delete}
 */
public record VersionedRecord(byte[] bytes, int version) {}
