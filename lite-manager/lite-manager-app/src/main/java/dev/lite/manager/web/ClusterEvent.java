package dev.lite.manager.web;

/**
 * Something that happened.
 *
 * @param number of this manager's event, from 1 without a gap
 * @param type what kind: {@code nodes}, {@code leadership}, {@code directory}…
 * @param data what happened; written as JSON
 */
record ClusterEvent(long number, String type, Object data) {}
