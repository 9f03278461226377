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
 * @param id the cluster-wide id, as text because it exceeds the number range of some languages
 * @param state LIVE, FREEING or MOVING
 * @param bytes its size
 * @param shares one for every node that holds part of its memory
 * @param defaultPermissions the permissions of every principal without a grant
 * @param grants principal → permissions
 * @param movingTo the target of its move; absent unless it is MOVING
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
     * The part on one node.
     *
     * @param node the node's name; absent when it is not registered
     * @param nodeId the node's id
     * @param arena the id of the node's arena
     * @param bytes the amount of memory
     * @param runs the number of contiguous pieces
     */
    record Share(
            @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable
            String node,

            int nodeId,
            UUID arena,
            long bytes,
            int runs) {}

    /** @param nodeName maps a node id to its name, or to null when the node is not registered */
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
