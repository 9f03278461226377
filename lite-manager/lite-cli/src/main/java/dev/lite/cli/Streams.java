package dev.lite.cli;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * Standard input and output as bytes.
 *
 * @param in standard input
 * @param out standard output, not buffered
 */
record Streams(InputStream in, OutputStream out) {
    /** Those of this process. */
    static Streams ofProcess() {
        return new Streams(new FileInputStream(FileDescriptor.in), new FileOutputStream(FileDescriptor.out));
    }
}
