/** What the processes of a cluster (manager, node) have in common when they start and stop. */
@NullMarked
package dev.lite.cluster.process;

import org.jspecify.annotations.NullMarked;
