/**
 * The client: attaches this process to its host's node and carries {@link dev.lite.api.Lite} over the session protocol.
 * Applications see only {@code dev.lite.api}; {@link dev.lite.client.LiteClient} is for those who configure more.
 */
@NullMarked
package dev.lite.client;

import org.jspecify.annotations.NullMarked;
