package dev.lite.manager.web;

/** What a client of the manager may do. */
public enum Role {
    /** Sees the state of the cluster, but not the bytes in its memory. */
    READER,
    /** May do everything. */
    OPERATOR
}
