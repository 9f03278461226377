/** The wiring of a node, its configuration, and the sessions of its applications. */
@NullMarked
package dev.lite.tier.node;

import org.jspecify.annotations.NullMarked;
