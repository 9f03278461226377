/**
 * The demo's applications in one jar. {@code lite.demo.role=store} puts a file into remote memory and calls for its words to
 * be counted, {@code compare} reads it back on another node and compares it with the disk, {@code serve} only counts; all of
 * them count the extents that lie at their node when they are called. They meet only through LITE: by two named LMRs, a
 * function, a lock and barriers, all named {@code demo/…}.
 */
@NullMarked
package dev.lite.demo.app;

import org.jspecify.annotations.NullMarked;
