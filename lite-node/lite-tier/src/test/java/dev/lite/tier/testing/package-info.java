/** Utilities for the tests of the tier: deadlines, temporary directories in memory, seeds, a second JVM. */
@NullMarked
package dev.lite.tier.testing;

import org.jspecify.annotations.NullMarked;
