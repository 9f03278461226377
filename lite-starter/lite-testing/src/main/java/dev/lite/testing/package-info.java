/** What the tests of all modules share. Uses the JDK only, so that the tests of the lowest module can use it, too. */
@org.jspecify.annotations.NullMarked
package dev.lite.testing;
