/** The connections to the other nodes: who connects to whom, over which fabric, and who polls. */
@NullMarked
package dev.lite.tier.peer;

import org.jspecify.annotations.NullMarked;
