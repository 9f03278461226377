package dev.lite.rdma.vm;

import java.nio.file.Path;

/** Where the build says that files are. */
final class VmFiles {
    private VmFiles() {}

    /** In the build directory: the image, and a directory for each machine with its console, logs and crash reports. */
    static Path root() {
        return Path.of(property("lite.rdma.vm.directory"));
    }

    /** The shell scripts. */
    static Path scripts() {
        return Path.of(property("lite.rdma.vm.scripts"));
    }

    private static String property(String name) {
        String value = System.getProperty(name);
        if (value == null) {
            throw new IllegalStateException("the system property %s is not set; the build does that".formatted(name));
        }
        return value;
    }
}
