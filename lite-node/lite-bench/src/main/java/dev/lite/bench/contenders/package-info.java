/** The contenders that need nothing but this project: LITE attached and embedded, and its plain counterparts. */
@NullMarked
package dev.lite.bench.contenders;

import org.jspecify.annotations.NullMarked;
