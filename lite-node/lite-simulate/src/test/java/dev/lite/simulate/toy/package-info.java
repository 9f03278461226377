/** A small program that uses what the tier uses of threads; rewritten as the tier is. */
@NullMarked
package dev.lite.simulate.toy;

import org.jspecify.annotations.NullMarked;
