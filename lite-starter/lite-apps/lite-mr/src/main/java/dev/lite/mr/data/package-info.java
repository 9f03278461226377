/** Pairs in memory, in runs, and merged: what a worker's thread works with. Internal. */
@NullMarked
package dev.lite.mr.data;

import org.jspecify.annotations.NullMarked;
