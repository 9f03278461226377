/** A ZooKeeper server inside the manager, for clusters on one machine. */
@NullMarked
package dev.lite.manager.zookeeper;

import org.jspecify.annotations.NullMarked;
