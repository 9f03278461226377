package dev.lite.samples.thumbnail;

/**
 * A thumbnail. It is small enough for a reply.
 *
 * @param jpeg the picture
 * @param node the name of the node whose thumbnailer made it
 */
record Thumbnail(byte[] jpeg, String node) {}
