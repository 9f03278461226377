/** The agent that redirects time, threads, randomness and spinning to the simulation, without a change of the tier's sources. */
@NullMarked
package dev.lite.simulate.agent;

import org.jspecify.annotations.NullMarked;
