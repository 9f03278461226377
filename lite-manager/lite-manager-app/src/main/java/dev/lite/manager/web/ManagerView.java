package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A manager, and what it knows of the others.
 *
 * @param cluster the cluster's name
 * @param name this manager
 * @param leads whether this one leads
 * @param leader who leads; absent when that is not known
 * @param managers who takes part in the election, the leader first
 * @param directoryAvailable whether ZooKeeper can be reached
 * @param epoch the number of the cluster's epoch
 * @param openOrders how many orders are neither done nor failed
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
