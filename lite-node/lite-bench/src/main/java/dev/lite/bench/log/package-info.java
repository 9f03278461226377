/** The benchmark of LITE-Log: writers in several processes, embedded and attached, beside bare shared memory. */
@NullMarked
package dev.lite.bench.log;

import org.jspecify.annotations.NullMarked;
