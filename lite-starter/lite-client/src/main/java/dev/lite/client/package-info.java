/**
 * The client: attaches this process to its host's node, and implements {@link dev.lite.api.Lite} over the session protocol.
 * Applications use {@code dev.lite.api}; {@link dev.lite.client.LiteClient} adds tuning.
 */
@NullMarked
package dev.lite.client;

import org.jspecify.annotations.NullMarked;
