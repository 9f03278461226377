/**
 * Benchmarks: each measures LITE and its raw counterpart in one run, prints a table and writes a CSV file.
 *
 * <p>One room, although it has more than 20 classes: a benchmark, its counterpart and its second process belong together,
 * and no other module uses them.
 */
@NullMarked
package dev.lite.bench;

import org.jspecify.annotations.NullMarked;
