/**
 * A fabric in memory whose delays, order and faults come from a seed: the test double for everything above the SPI. Start
 * at {@link dev.lite.fabric.simulated.SimulatedNetwork}.
 */
@NullMarked
package dev.lite.fabric.simulated;

import org.jspecify.annotations.NullMarked;
