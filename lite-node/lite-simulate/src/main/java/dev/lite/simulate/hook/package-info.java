/** What rewritten code calls, also that of the JDK. This package lies on the boot class path. */
@NullMarked
package dev.lite.simulate.hook;

import org.jspecify.annotations.NullMarked;
