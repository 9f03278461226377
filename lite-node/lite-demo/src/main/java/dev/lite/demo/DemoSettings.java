package dev.lite.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;

/**
 * The validated settings of the demo.
 *
 * @param file the file to store: exists, readable, not empty
 * @param bytes its size
 * @param keep whether the cluster keeps running at the end
 * @param fabric the fabric between the nodes: shm or tcp
 * @param managerJar the manager's executable jar
 * @param nodeJar the node's executable jar
 * @param appJar the applications' executable jar
 */
record DemoSettings(Path file, long bytes, boolean keep, String fabric, Path managerJar, Path nodeJar, Path appJar) {

    private static final List<String> FABRICS = List.of("shm", "tcp");

    /** Reads the settings from {@code lite.demo.*}. Without a file, writes the demo's own text. */
    static DemoSettings of(Properties properties) {
        String given = properties.getProperty("lite.demo.file", "");
        Path file = given.isBlank()
                ? SampleText.write(SampleText.BYTES)
                : Path.of(given).toAbsolutePath().normalize();
        return new DemoSettings(
                file,
                checkedSize(file),
                keep(properties.getProperty("lite.demo.keep", "false")),
                fabric(properties.getProperty("lite.demo.fabric", "shm")),
                Path.of(required(properties, "lite.demo.manager-jar")).normalize(),
                Path.of(required(properties, "lite.demo.node-jar")).normalize(),
                Path.of(required(properties, "lite.demo.app-jar")).normalize());
    }

    private static long checkedSize(Path file) {
        String named = "the file %s (lite.demo.file) ".formatted(file);
        if (!Files.exists(file)) {
            throw new DemoFailedException(named + "does not exist");
        }
        if (Files.isDirectory(file)) {
            throw new DemoFailedException(named + "is a directory; it must be a file");
        }
        if (!Files.isRegularFile(file)) {
            throw new DemoFailedException(named + "is not a regular file");
        }
        if (!Files.isReadable(file)) {
            throw new DemoFailedException(named + "is not readable by the user " + System.getProperty("user.name"));
        }
        try {
            long bytes = Files.size(file);
            if (bytes == 0) {
                throw new DemoFailedException(named + "is empty; it needs at least 1 byte");
            }
            return bytes;
        } catch (IOException e) {
            throw new DemoFailedException(named + "has no readable size: " + e.getMessage(), e);
        }
    }

    private static boolean keep(String value) {
        return switch (value) {
            case "true", "" -> true;
            case "false" -> false;
            default ->
                throw new DemoFailedException("lite.demo.keep is \"%s\"; it must be true or false".formatted(value));
        };
    }

    private static String fabric(String value) {
        if (!FABRICS.contains(value)) {
            throw new DemoFailedException("lite.demo.fabric is \"%s\"; it must be one of %s".formatted(value, FABRICS));
        }
        return value;
    }

    private static String required(Properties properties, String key) {
        String value = properties.getProperty(key, "");
        if (value.isBlank()) {
            throw new DemoFailedException("%s is not set; start the demo with: mvn -Pdemo".formatted(key));
        }
        return value;
    }
}
