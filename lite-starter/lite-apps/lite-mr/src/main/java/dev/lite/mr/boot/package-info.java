/** Spring Boot: the bean {@link dev.lite.mr.JobRunner}, and workers as applications. */
@NullMarked
package dev.lite.mr.boot;

import org.jspecify.annotations.NullMarked;
