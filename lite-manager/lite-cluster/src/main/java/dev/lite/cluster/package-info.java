/**
 * Membership and names: the interface, its Curator implementation on ZooKeeper, and one in memory for tests and
 * single-process tools. ZooKeeper is the only authority on membership and is never on a data path.
 */
@NullMarked
package dev.lite.cluster;

import org.jspecify.annotations.NullMarked;
