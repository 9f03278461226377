/** Locks and barriers across the cluster (paper §7.2). */
@NullMarked
package dev.lite.tier.sync;

import org.jspecify.annotations.NullMarked;
