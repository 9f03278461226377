package dev.lite.demo.app;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Properties;

/** An application's results, for the demo's launcher. Used by one thread. */
final class Results {

    private final Properties values = new Properties();
    private int comparisons;
    private boolean allHeld = true;

    void put(String key, Object value) {
        values.setProperty(key, value.toString());
    }

    /** Records a comparison; the launcher reports all of them. */
    void compare(String what, Object expected, Object found) {
        boolean held = expected.equals(found);
        String key = "comparison." + comparisons++;
        put(key + ".what", what);
        put(key + ".held", held);
        put(key + ".expected", expected);
        put(key + ".found", found);
        allHeld &= held;
    }

    boolean allHeld() {
        return allHeld;
    }

    /** Writes the file atomically. */
    void write(Path file) throws IOException {
        put("comparisons", comparisons);
        Path unfinished = file.resolveSibling(file.getFileName() + ".new");
        try (Writer writer = Files.newBufferedWriter(unfinished)) {
            values.store(writer, null);
        }
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
