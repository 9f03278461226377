package dev.lite.manager;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** A manager in its own process. */
final class ManagerProcess implements AutoCloseable {
    static final Duration START = Waits.seconds(90);

    private final Process process;
    private final Path log;
    private final Path readyFile;

    ManagerProcess(Path directory, String name, String... options) throws IOException {
        log = directory.resolve(name + ".log");
        readyFile = directory.resolve(name + ".properties");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx128m",
                // As system properties, so that the options of a test take precedence.
                "-Dserver.port=0",
                "-Dlite.manager.zookeeper.port=0",
                "-cp",
                System.getProperty("java.class.path"),
                LiteManagerApplication.class.getName(),
                "--lite.ready-file=" + readyFile));
        command.addAll(List.of(options));
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
    }

    Process process() {
        return process;
    }

    /** Waits for the ready file, and returns its contents. */
    Properties ready() {
        Waits.until("the manager is ready", START, () -> {
            if (!process.isAlive()) {
                throw new AssertionError("the manager ended:\n" + log());
            }
            return Files.exists(readyFile);
        });
        try {
            Properties properties = new Properties();
            properties.load(new StringReader(Files.readString(readyFile)));
            return properties;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    boolean hasReadyFile() {
        return Files.exists(readyFile);
    }

    /** Waits for its end, and returns its exit status. */
    int awaitExit(Duration deadline) throws InterruptedException {
        if (!process.waitFor(deadline.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("the manager did not end within " + deadline + ":\n" + log());
        }
        return process.exitValue();
    }

    String log() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The answer of a health URL. */
    static HttpResponse<String> get(String url) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create(url))
                            .timeout(Waits.seconds(20))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    /** Polls the health until it contains the text. */
    static String awaitHealth(String url, String text) throws IOException, InterruptedException {
        long endNs = System.nanoTime() + Waits.seconds(30).toNanos();
        while (true) {
            String body = get(url).body();
            if (body.contains(text)) {
                return body;
            }
            if (System.nanoTime() > endNs) {
                throw new AssertionError("waited for " + text + " in " + body);
            }
            Waits.pass(Duration.ofMillis(50));
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
