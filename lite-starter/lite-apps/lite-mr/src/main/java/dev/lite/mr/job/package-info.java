/** What a job's author implements and uses. Objects that are passed to a job are valid during the call only. */
@NullMarked
package dev.lite.mr.job;

import org.jspecify.annotations.NullMarked;
