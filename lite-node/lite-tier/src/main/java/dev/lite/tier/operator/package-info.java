/** What this node does for operators: orders, drain, rebalancing, and freeing memory that belongs to no LMR. */
@NullMarked
package dev.lite.tier.operator;

import org.jspecify.annotations.NullMarked;
