/** Tests over several real processes, and of the architecture. */
@NullMarked
package dev.lite.system;

import org.jspecify.annotations.NullMarked;
