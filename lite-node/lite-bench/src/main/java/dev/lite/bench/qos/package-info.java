/**
 * The benchmarks {@code qos} and {@code scale}: the paper's figures 16 and 14, on a shaped link between two network
 * namespaces and over shared memory.
 */
@NullMarked
package dev.lite.bench.qos;

import org.jspecify.annotations.NullMarked;
