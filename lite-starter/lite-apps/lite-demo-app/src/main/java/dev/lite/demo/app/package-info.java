/**
 * The demo's two applications in one jar: {@code lite.demo.role=store} puts a file into remote memory,
 * {@code lite.demo.role=count} reads it back on another node and compares; both count the words of one half. They meet only
 * in remote memory: by two named LMRs, {@code demo/file} and {@code demo/control}.
 */
@NullMarked
package dev.lite.demo.app;

import org.jspecify.annotations.NullMarked;
