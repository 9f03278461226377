/** What the applications of a history do, and what must be true of what they saw. */
@NullMarked
package dev.lite.simulate.work;

import org.jspecify.annotations.NullMarked;
