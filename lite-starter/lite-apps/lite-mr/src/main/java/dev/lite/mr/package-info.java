/**
 * LITE-MR: MapReduce over LITE (paper §8.2). A {@link dev.lite.mr.Job} is a class; {@link dev.lite.mr.MapReduce} is the master that
 * runs it; {@link dev.lite.mr.MrWorker} executes its tasks. Intermediate results are in LMRs, which the workers read from each other.
 */
@NullMarked
package dev.lite.mr;

import org.jspecify.annotations.NullMarked;
