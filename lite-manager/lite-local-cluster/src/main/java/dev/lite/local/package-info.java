/**
 * A cluster of real processes on this machine: one manager with its embedded ZooKeeper, any number of nodes over the
 * shared-memory fabric, and applications beside them. Used by the demo and by the system tests. Start with
 * {@link dev.lite.local.LocalCluster#builder}.
 */
@NullMarked
package dev.lite.local;

import org.jspecify.annotations.NullMarked;
