/**
 * One case for every guarantee of the fabric SPI. A driver's test class extends
 * {@link dev.lite.fabric.conformance.FabricConformanceTest} and supplies a factory.
 */
@NullMarked
package dev.lite.fabric.conformance;

import org.jspecify.annotations.NullMarked;
