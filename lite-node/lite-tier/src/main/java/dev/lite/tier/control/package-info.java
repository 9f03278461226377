/** Internal calls between nodes: allocate, free, revoke. Never on a data path. */
@NullMarked
package dev.lite.tier.control;

import org.jspecify.annotations.NullMarked;
