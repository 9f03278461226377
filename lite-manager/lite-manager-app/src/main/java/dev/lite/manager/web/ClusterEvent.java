package dev.lite.manager.web;

/**
 * A change in the cluster.
 *
 * @param number this manager's event number, consecutive from 1
 * @param type the kind: {@code nodes}, {@code leadership}, {@code directory}…
 * @param data the change, written as JSON
 */
record ClusterEvent(long number, String type, Object data) {}
