/**
 * The life of an LMR across nodes: records, allocation, mappings, changes by masters, and reclamation (paper §4.1,
 * §7.1; architecture §5 and §6). One package, because all parts share one rule: no memory is reused while anybody can
 * write to it.
 */
@NullMarked
package dev.lite.tier.lmr;

import org.jspecify.annotations.NullMarked;
