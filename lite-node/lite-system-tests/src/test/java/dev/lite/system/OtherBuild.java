package dev.lite.system;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * A later build of LITE: the same sources, but with other versions of the protocols between nodes, and between application and node.
 * All classes that use these numbers are compiled again, since a compiler copies constants.
 *
 * @param version the version of the session protocol
 * @param nodeVersion the version of the node protocol
 * @param classes the compiled classes; for an application, in front of its class path
 * @param nodeJar the executable jar of the node
 */
record OtherBuild(int version, int nodeVersion, Path classes, Path nodeJar) {
    private static final List<String> MODULES =
            List.of("lite-starter/lite-session", "lite-starter/lite-client", "lite-node/lite-tier");
    private static final Pattern USE =
            Pattern.compile("\\b(PROTOCOL_VERSION|OLDEST_VERSION|SessionProtocol\\.VERSION)\\b");
    private static final Pattern VERSION = Pattern.compile("( int (?:PROTOCOL_)?VERSION = )(\\d+);");
    private static final Pattern OLDEST = Pattern.compile("( int OLDEST_VERSION = )(\\d+);");

    /**
     * Makes a build that is some versions ahead, and works with the version before its own.
     *
     * @param directory for its files
     */
    static OtherBuild ahead(int versions, Path directory) throws IOException {
        Path classes = Files.createDirectories(directory.resolve("classes"));
        List<JavaFileObject> sources = new ArrayList<>();
        List<Integer> found = new ArrayList<>();
        for (String module : MODULES) {
            try (Stream<Path> files = Files.walk(Path.of("../..", module, "src/main/java"))) {
                for (Path file :
                        files.filter(name -> name.toString().endsWith(".java")).toList()) {
                    String text = Files.readString(file);
                    if (USE.matcher(text).find()) {
                        sources.add(new Source(file, changed(text, versions, found)));
                    }
                }
            }
        }
        if (sources.size() < 6 || found.size() != 2) {
            throw new AssertionError("expected two protocols and their users, found " + found + " in " + sources);
        }
        compile(sources, classes);
        return new OtherBuild(found.getFirst(), found.getLast(), classes, nodeJar(classes, directory));
    }

    private static String changed(String text, int versions, List<Integer> found) {
        Matcher version = VERSION.matcher(text);
        if (!version.find()) {
            return text;
        }
        int ahead = Integer.parseInt(version.group(2)) + versions;
        found.add(ahead);
        return OLDEST.matcher(version.replaceAll("$1" + ahead + ";")).replaceAll("$1" + (ahead - 1) + ";");
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(Path file, String text) {
            super(file.toAbsolutePath().normalize().toUri(), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    private static void compile(List<JavaFileObject> sources, Path classes) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter said = new StringWriter();
        List<String> options = List.of(
                "-proc:none", "-nowarn", "-d", classes.toString(), "-cp", System.getProperty("java.class.path"));
        if (!compiler.getTask(said, null, null, options, null, sources).call()) {
            throw new AssertionError(said.toString());
        }
    }

    /** The classes of the jar itself come before those of its libraries. */
    private static Path nodeJar(Path classes, Path directory) throws IOException {
        Path original = Clusters.nodeJar().toAbsolutePath().normalize();
        Path jar = Files.copy(original, directory.resolve(original.getFileName()));
        Files.createSymbolicLink(directory.resolve("lib"), original.resolveSibling("lib"));
        try (FileSystem inside = FileSystems.newFileSystem(URI.create("jar:" + jar.toUri()), Map.of());
                Stream<Path> files = Files.walk(classes)) {
            files.filter(Files::isRegularFile)
                    .forEach(file -> copy(file, inside.getPath("/" + classes.relativize(file))));
        }
        return jar;
    }

    private static void copy(Path from, Path to) {
        try {
            Files.createDirectories(to.getParent());
            Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The class path of an application of this build. */
    String classPath() {
        return classes + ":" + System.getProperty("java.class.path");
    }
}
