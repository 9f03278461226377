package dev.lite.simulate.tier;

/** What a history is directed at: a rare coincidence that its faults and its workload make likely. */
public enum Mix {
    /** Nothing: each fault and each part of the workload has a weight of its own. */
    ANY,
    /** Nodes return as new processes before some peers hear of it, while LMRs move. */
    RETURNS,
    /** Connections break while control requests travel, often on one side only, and are replaced. */
    CUTS,
    /** Many calls of a function that hangs, beside calls of others; rings of calls pass their end often. */
    HANGS,
    /** Sessions of the directory are lost, for a moment or for long, while orders run. */
    SESSIONS,
    /** Holders of locks are killed and fenced. */
    HOLDERS,
    /** Nodes are removed, do not know it, and reach their peers; their connections end late. */
    REMOVALS,
    /** Nothing breaks. Several threads of a node transfer without pauses, with and without waiting, by the same buffers. */
    TRANSFERS
}
