/** A node put together: arena, links, control calls, sessions. */
@NullMarked
package dev.lite.tier.node;

import org.jspecify.annotations.NullMarked;
