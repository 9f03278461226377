package dev.lite.samples.thumbnail;

/**
 * A photo that lies in remote memory, from offset 0 on.
 *
 * @param lmr the id of the LMR
 * @param bytes the length of the PNG
 * @param width the wanted width of the thumbnail, in pixels
 */
record Photo(long lmr, int bytes, int width) {}
