package dev.lite.docs.site;

import java.nio.file.Path;

/** Writes the site: {@code mvn -Psite -pl docs}. */
final class SiteMain {
    private SiteMain() {}

    /** The arguments are the repository and the site's directory. */
    public static void main(String[] arguments) {
        Path repository = Path.of(arguments[0]).toAbsolutePath().normalize();
        Path output = Path.of(arguments[1]).toAbsolutePath().normalize();
        int pages = Site.write(repository, output);
        System.out.printf("%d pages: %s%n", pages, output.resolve("index.html"));
    }
}
