/** Asynchronous operations of a session, with a limit. */
@NullMarked
package dev.lite.session.async;

import org.jspecify.annotations.NullMarked;
