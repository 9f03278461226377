/** The node process: configuration and wiring of the tier, its health, its start and its stop. */
@NullMarked
package dev.lite.node;

import org.jspecify.annotations.NullMarked;
