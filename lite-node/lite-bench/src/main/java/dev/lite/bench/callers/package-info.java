/** The benchmark {@code callers}: what users run, beside the peers in the same run. */
@NullMarked
package dev.lite.bench.callers;

import org.jspecify.annotations.NullMarked;
