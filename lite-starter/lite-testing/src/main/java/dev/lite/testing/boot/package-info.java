/** Utilities for the tests of Spring Boot applications. */
@org.jspecify.annotations.NullMarked
package dev.lite.testing.boot;
