/**
 * Membership and names: the interface, its implementation on ZooKeeper with Curator, and one in memory for tests and
 * single-process tools. ZooKeeper is the only authority on membership and is never on a data path.
 *
 * <p>One room, although it has more than 20 classes: both implementations share package-private rules (epochs, ids, record
 * names, the listener thread), which must not become public.
 */
@NullMarked
package dev.lite.cluster;

import org.jspecify.annotations.NullMarked;
