/**
 * The demo's applications in one jar. {@code lite.demo.role=store} writes a file to remote memory and requests the word
 * counts; {@code compare} reads it back on another node and compares it with the file on disk; {@code serve} only counts.
 * All of them count the extents on their own node. They communicate only through LITE: two named LMRs, a function, a lock
 * and barriers, all named {@code demo/…}.
 */
@NullMarked
package dev.lite.demo.app;

import org.jspecify.annotations.NullMarked;
