/** Shared by the processes of a cluster (manager, node): start and shutdown. */
@NullMarked
package dev.lite.cluster.process;

import org.jspecify.annotations.NullMarked;
