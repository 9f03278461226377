/**
 * Shops that take orders from one stock: unique order numbers by {@code fetchAdd}, and a lock whose fencing token the warehouse checks.
 * See the module's README.md.
 */
@NullMarked
package dev.lite.samples.ordercounter;

import org.jspecify.annotations.NullMarked;
