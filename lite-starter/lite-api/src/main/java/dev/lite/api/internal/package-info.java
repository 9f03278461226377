/** Shared by LITE's own modules; not for applications, and may change in any release. */
@NullMarked
package dev.lite.api.internal;

import org.jspecify.annotations.NullMarked;
