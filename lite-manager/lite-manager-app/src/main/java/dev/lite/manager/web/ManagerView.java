package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A manager and its view of the cluster.
 *
 * @param cluster the cluster's name
 * @param name this manager
 * @param leads whether this one leads
 * @param leader the leader; absent when unknown
 * @param managers the participants of the election, the leader first
 * @param directoryAvailable whether ZooKeeper is reachable
 * @param epoch the number of the current epoch
 * @param openOrders the number of orders that are neither done nor failed
 */
record ManagerView(
        String cluster,
        String name,
        boolean leads,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable String leader,
        List<String> managers,
        boolean directoryAvailable,
        long epoch,
        int openOrders) {}
