/** Tests that everything in the documentation works: examples, commands, properties, links. */
@NullMarked
package dev.lite.docs;

import org.jspecify.annotations.NullMarked;
