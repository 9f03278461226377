/**
 * Utilities for the tests of all modules. Uses only the JDK, so that the tests of the lowest module can use it, too; only
 * {@code dev.lite.testing.boot} uses Spring Boot.
 */
@org.jspecify.annotations.NullMarked
package dev.lite.testing;
