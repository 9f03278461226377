/** A price board in remote memory: one service writes quotes, many services read them. See the module's README.md. */
@NullMarked
package dev.lite.samples.priceboard;

import org.jspecify.annotations.NullMarked;
