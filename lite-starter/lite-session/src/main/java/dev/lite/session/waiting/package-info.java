/** How threads of an application wait for the other side of shared memory. */
@NullMarked
package dev.lite.session.waiting;

import org.jspecify.annotations.NullMarked;
