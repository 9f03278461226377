/** Operations that their callers do not wait for. */
@NullMarked
package dev.lite.client.async;

import org.jspecify.annotations.NullMarked;
