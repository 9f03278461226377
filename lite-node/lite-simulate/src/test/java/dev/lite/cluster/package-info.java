/** A directory for simulations; in this package because the epochs are kept by package-private classes. */
@NullMarked
package dev.lite.cluster;

import org.jspecify.annotations.NullMarked;
