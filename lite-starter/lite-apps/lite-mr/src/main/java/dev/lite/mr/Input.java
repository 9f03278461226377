package dev.lite.mr;

import dev.lite.api.LmrSpec;
import java.nio.file.Path;

/** Where a job reads. */
public sealed interface Input {
    /** A file, which the master and every worker can read under this path. */
    static Input file(Path path) {
        return new File(path.toAbsolutePath());
    }

    /** An LMR, which the principals of the master and of every worker may read. */
    static Input lmr(String name) {
        return new Lmr(name);
    }

    /**
     * See {@link Input#file}.
     *
     * @param path absolute
     */
    record File(Path path) implements Input {
        @Override
        public String toString() {
            return "file " + path;
        }
    }

    /**
     * See {@link Input#lmr}.
     *
     * @param name the LMR's name
     */
    record Lmr(String name) implements Input {
        /** Checks the name. */
        public Lmr {
            LmrSpec.checkName(name);
        }

        @Override
        public String toString() {
            return "LMR \"%s\"".formatted(name);
        }
    }
}
