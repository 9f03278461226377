/** Auto-configuration of the bean {@link dev.lite.log.LiteLogs}. */
@NullMarked
package dev.lite.log.boot;

import org.jspecify.annotations.NullMarked;
