package dev.lite.rdma.vm;

import java.nio.file.Path;

/** The paths of files, from the build. */
final class VmFiles {
    private VmFiles() {}

    /** A directory in the build directory, for the image and for each machine's console, logs and crash reports. */
    static Path root() {
        return Path.of(property("lite.rdma.vm.directory"));
    }

    /** The shell scripts. */
    static Path scripts() {
        return Path.of(property("lite.rdma.vm.scripts"));
    }

    /** The executable jar of the node, with its libraries and its class cache beside it. */
    static Path nodeJar() {
        return Path.of(property("lite.rdma.vm.node-jar"));
    }

    private static String property(String name) {
        String value = System.getProperty(name);
        if (value == null) {
            throw new IllegalStateException(
                    "the system property %s is not set; the Maven build sets it".formatted(name));
        }
        return value;
    }
}
