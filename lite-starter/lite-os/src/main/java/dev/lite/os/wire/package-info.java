/**
 * Byte streams over TCP sockets, plain or encrypted, that send from and receive into any memory. Both ends of an encrypted one have
 * agreed on its keys before.
 */
@NullMarked
package dev.lite.os.wire;

import org.jspecify.annotations.NullMarked;
