package dev.lite.manager.web;

/**
 * The identity of this manager.
 *
 * @param cluster the cluster's name
 * @param name its name in the leader election
 */
public record ManagerIdentity(String cluster, String name) {}
