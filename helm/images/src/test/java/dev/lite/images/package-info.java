/** Tests of the container images, without an engine: unpacked, and started in a root of their own. */
@NullMarked
package dev.lite.images;

import org.jspecify.annotations.NullMarked;
