/** Benchmarks: each measures LITE beside its raw counterpart in one run, prints a table and writes a CSV file. */
@NullMarked
package dev.lite.bench;

import org.jspecify.annotations.NullMarked;
