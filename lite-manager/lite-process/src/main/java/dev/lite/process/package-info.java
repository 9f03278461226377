/** What the node's and the manager's processes have in common and what needs Spring. */
@NullMarked
package dev.lite.process;

import org.jspecify.annotations.NullMarked;
