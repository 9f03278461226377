/** Operations that their callers do not wait for. */
@NullMarked
package dev.lite.session.async;

import org.jspecify.annotations.NullMarked;
