/**
 * Locks and barriers across the cluster (paper §7.2): as a session uses them, as a node shares them among its sessions
 * ({@code Node…}), and as the home of their words queues and counts ({@code Home…}). It has more than 20 classes because a
 * word's life concerns all three.
 */
@NullMarked
package dev.lite.tier.sync;

import org.jspecify.annotations.NullMarked;
