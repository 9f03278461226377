/** The node process: configuration and wiring of the tier, health, start and shutdown. */
@NullMarked
package dev.lite.node;

import org.jspecify.annotations.NullMarked;
