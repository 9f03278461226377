/** Thumbnails of photos that are too large for a request: they travel through remote memory. See the module's README.md. */
@NullMarked
package dev.lite.samples.thumbnail;

import org.jspecify.annotations.NullMarked;
