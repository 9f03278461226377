/**
 * A cluster of real processes on this machine: managers, one with an embedded ZooKeeper, nodes, and applications. Used by
 * the demo, the command line and the system tests. Start with {@link dev.lite.local.LocalCluster#builder}.
 */
@NullMarked
package dev.lite.local;

import org.jspecify.annotations.NullMarked;
