/** Tests of applications with embedded nodes: {@link dev.lite.test.LiteTest}. */
@NullMarked
package dev.lite.test;

import org.jspecify.annotations.NullMarked;
