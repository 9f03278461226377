/** What every path of a message shares: errors and texts with bounded lengths. */
@NullMarked
package dev.lite.session.wire;

import org.jspecify.annotations.NullMarked;
