package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A named LMR.
 *
 * @param name its name
 * @param id the cluster-wide number, as text: it does not fit into the numbers of every language
 * @param state LIVE, FREEING or MOVING
 * @param bytes its size
 * @param shares one for every node that holds memory of it
 * @param defaultPermissions of every principal without a grant
 * @param grants principal → permissions
 * @param movingTo where it moves to; absent unless it is MOVING
 */
record LmrView(
        String name,
        String id,
        LmrRecord.State state,
        long bytes,
        List<Share> shares,
        List<Permission> defaultPermissions,
        Map<String, List<Permission>> grants,

        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable List<Share> movingTo) {

    /**
     * What lies on one node.
     *
     * @param node its name; absent when it is not registered
     * @param nodeId its number
     * @param arena which arena of that node
     * @param bytes how much
     * @param runs in how many pieces
     */
    record Share(
            @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable
            String node,

            int nodeId,
            UUID arena,
            long bytes,
            int runs) {}

    /** @param nodeName the name of a node id, or null when no such node is registered */
    static LmrView of(String name, LmrRecord lmr, IntFunction<@Nullable String> nodeName) {
        Map<String, List<Permission>> grants = new TreeMap<>();
        lmr.grants().forEach((principal, bits) -> grants.put(principal, permissions(bits)));
        LmrRecord.Move move = lmr.move();
        return new LmrView(
                name,
                Long.toString(lmr.id()),
                lmr.state(),
                lmr.size(),
                shares(lmr.shares(), nodeName),
                permissions(lmr.defaultPermissions()),
                grants,
                move == null ? null : shares(move.shares(), nodeName));
    }

    private static List<Share> shares(List<LmrRecord.Share> shares, IntFunction<@Nullable String> nodeName) {
        return shares.stream()
                .map(share -> new Share(
                        nodeName.apply(share.node()),
                        share.node(),
                        share.arena(),
                        share.runs().stream().mapToLong(LmrRecord.Run::length).sum(),
                        share.runs().size()))
                .toList();
    }

    private static List<Permission> permissions(int bits) {
        return Arrays.stream(Permission.values())
                .filter(permission -> (bits & permission.bit()) != 0)
                .toList();
    }
}
