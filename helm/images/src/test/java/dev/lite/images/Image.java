package dev.lite.images;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * An image of the build, unpacked as an engine does it.
 *
 * @param tarball the OCI tarball
 * @param root the file system: all layers, one upon the other
 * @param config the image's configuration
 * @param layers number of layers
 */
record Image(Path tarball, Path root, JsonNode config, int layers) {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Path DIRECTORY = Path.of(System.getProperty("lite.image.directory", "target"));

    /** Unpacks an image below a directory. */
    static Image unpack(String name, Path work) {
        Path tarball = DIRECTORY.resolve(name + ".tar").toAbsolutePath();
        Path layout = work.resolve(name + "-layout");
        Path root = work.resolve(name);
        try {
            Files.createDirectories(layout);
            Files.createDirectories(root);
            run("tar", "-xf", tarball.toString(), "-C", layout.toString());
            JsonNode manifest = blob(
                    layout,
                    JSON.readTree(layout.resolve("index.json"))
                            .path("manifests")
                            .get(0));
            for (JsonNode layer : manifest.path("layers")) {
                run("tar", "-xzpf", file(layout, layer).toString(), "-C", root.toString());
            }
            return new Image(
                    tarball,
                    root,
                    blob(layout, manifest.path("config")).path("config"),
                    manifest.path("layers").size());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static JsonNode blob(Path layout, JsonNode descriptor) {
        return JSON.readTree(file(layout, descriptor));
    }

    private static Path file(Path layout, JsonNode descriptor) {
        return layout.resolve("blobs")
                .resolve(descriptor.path("digest").asString().replace(':', '/'));
    }

    /** The command that an engine starts. */
    List<String> entryPoint() {
        List<String> command = new ArrayList<>();
        config.path("Entrypoint").forEach(word -> command.add(word.asString()));
        return command;
    }

    /** The environment, as NAME=VALUE. */
    List<String> environment() {
        List<String> variables = new ArrayList<>();
        config.path("Env").forEach(variable -> variables.add(variable.asString()));
        return variables;
    }

    /** Runs a command of the system and returns what it printed. */
    static String run(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new AssertionError(String.join(" ", command) + ": " + output);
            }
            return output;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}
