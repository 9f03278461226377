/** How a handler executes a call; used by client and tier. */
@NullMarked
package dev.lite.session.handling;

import org.jspecify.annotations.NullMarked;
