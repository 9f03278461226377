package dev.lite.mr;

import dev.lite.api.LmrSpec;
import java.nio.file.Path;

/** Where the result of a job goes, in the order of its keys. */
public sealed interface Output {
    /** Into {@link JobResult#pairs}; at most 256 MiB. */
    static Output memory() {
        return Memory.INSTANCE;
    }

    /** A text file with a line for each pair, as {@link dev.lite.mr.job.Job#format} writes it. Replaces the file when it is complete. */
    static Output file(Path path) {
        return new File(path.toAbsolutePath());
    }

    /**
     * A new LMR of this name, which lives until it is freed. It has the pairs as {@code int key length, int value length, key, value},
     * little-endian. No LMR is made if there is no pair. Up to 256 MiB it is complete as soon as its name exists. A larger one exists while
     * it is written, and stays incomplete if the master is killed meanwhile.
     */
    static Output lmr(String name) {
        return new Lmr(name);
    }

    /** See {@link Output#memory}. */
    enum Memory implements Output {
        INSTANCE
    }

    /**
     * See {@link Output#file}.
     *
     * @param path absolute
     */
    record File(Path path) implements Output {}

    /**
     * See {@link Output#lmr}.
     *
     * @param name the LMR's name
     */
    record Lmr(String name) implements Output {
        /** Checks the name. */
        public Lmr {
            LmrSpec.checkName(name);
        }
    }
}
