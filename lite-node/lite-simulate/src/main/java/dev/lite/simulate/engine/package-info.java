/** The deterministic scheduler: virtual threads, one at a time, over a virtual clock; every choice comes from a seed. */
@NullMarked
package dev.lite.simulate.engine;

import org.jspecify.annotations.NullMarked;
