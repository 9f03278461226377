/** The jobs of the Phoenix suite, which the paper ported (§8.2). They are also examples of how to write a job. */
@NullMarked
package dev.lite.mr.jobs;

import org.jspecify.annotations.NullMarked;
