package dev.lite.manager.web;

/**
 * Which manager this is.
 *
 * @param cluster the cluster's name
 * @param name what it is called in the election of the leader
 */
public record ManagerIdentity(String cluster, String name) {}
