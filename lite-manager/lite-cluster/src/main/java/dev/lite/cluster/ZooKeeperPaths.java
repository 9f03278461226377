package dev.lite.cluster;

import java.util.List;

/**
 * The layout in ZooKeeper.
 *
 * <pre>
 * /lite/CLUSTER/ids/NODE        the node's id, in decimal; its znode version is the last incarnation given
 *              /by-id/ID        the name of the node that owns the id forever
 *              /live/NODE       ephemeral: the registration, as JSON
 *              /names/XX/NAME   a record (see {@link RecordStore}); XX is the bucket, NAME is URL-encoded
 *              /epoch           the epoch, as JSON
 *              /acks/ID         ephemeral: which epoch a node has acknowledged, as JSON
 *              /functions/NODE  ephemeral: the functions that a node serves (see {@link FunctionNames})
 *              /leader          the managers' latch
 *              /signed          exists once the managers refuse what is not signed (see {@link Resigning}); signed, too
 * </pre>
 */
final class ZooKeeperPaths {
    private static final String ROOT = "/lite";

    final String base;
    final String ids;
    final String byId;
    final String live;
    final String names;
    final String epoch;
    final String acks;
    final String leader;
    final String functions;
    final String signed;

    ZooKeeperPaths(String cluster) {
        base = ROOT + "/" + cluster;
        ids = base + "/ids";
        byId = base + "/by-id";
        live = base + "/live";
        names = base + "/names";
        epoch = base + "/epoch";
        acks = base + "/acks";
        leader = base + "/leader";
        functions = base + "/functions";
        signed = base + "/signed";
    }

    /** Parents before children. */
    List<String> layout() {
        return List.of(ROOT, base, ids, byId, live, names, acks, functions);
    }

    /** Whether the version of this znode counts registrations; see {@link Registrar}. */
    boolean countsRegistrations(String path) {
        return path.startsWith(ids + "/");
    }

    /** Whether clusters of different users share this path. */
    boolean isShared(String path) {
        return path.equals(ROOT);
    }

    String id(String node) {
        return ids + "/" + node;
    }

    String byId(int id) {
        return byId + "/" + id;
    }

    String live(String node) {
        return live + "/" + node;
    }

    String ack(int id) {
        return acks + "/" + id;
    }

    String functions(String node) {
        return functions + "/" + node;
    }

    String bucket(int bucket) {
        return "%s/%02x".formatted(names, bucket);
    }

    String bucketOf(String name) {
        return bucket(RecordName.bucket(name));
    }

    String record(String name) {
        return bucketOf(name) + "/" + RecordName.encode(name);
    }
}
