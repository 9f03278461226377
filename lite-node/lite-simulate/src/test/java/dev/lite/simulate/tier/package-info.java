/** Nodes, managers and what connects them, under a simulation. */
@NullMarked
package dev.lite.simulate.tier;

import org.jspecify.annotations.NullMarked;
