package dev.lite.testing;

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

/** A service in its own process, which writes a file when it is ready. Any thread. */
public class ServiceProcess implements AutoCloseable {
    /** How long a start may take. */
    public static final Duration START = Waits.seconds(90);

    private static final Duration ANSWER = Waits.seconds(20);
    private static final Duration HEALTH = Waits.seconds(30);

    private final String what;
    private final Process process;
    private final Path log;
    private final Path readyFile;

    /**
     * Starts the process.
     *
     * @param what it is, for errors
     * @param directory for its output and its ready file
     * @param name of these files
     * @param application its main class
     * @param properties system properties, so that the options take precedence; without the {@code -D}
     * @param options of the application
     */
    protected ServiceProcess(
            String what, Path directory, String name, Class<?> application, List<String> properties, String... options)
            throws IOException {
        this.what = what;
        log = directory.resolve(name + ".log");
        readyFile = directory.resolve(name + ".properties");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx128m",
                "-Dserver.port=0"));
        properties.forEach(property -> command.add("-D" + property));
        command.addAll(List.of(
                "-cp", System.getProperty("java.class.path"), application.getName(), "--lite.ready-file=" + readyFile));
        command.addAll(List.of(options));
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
    }

    /** The process. */
    public Process process() {
        return process;
    }

    /** Waits for the ready file, and returns its contents. */
    public Properties ready() {
        Waits.until(what + " is ready", START, () -> {
            if (!process.isAlive()) {
                throw new AssertionError("%s ended:%n%s".formatted(what, log()));
            }
            return hasReadyFile();
        });
        try {
            Properties properties = new Properties();
            properties.load(new StringReader(Files.readString(readyFile)));
            return properties;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether it has written the ready file. */
    public boolean hasReadyFile() {
        return Files.exists(readyFile);
    }

    /** Waits for its end, and returns its exit status. */
    public int awaitExit(Duration deadline) throws InterruptedException {
        if (!process.waitFor(deadline.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("%s did not end within %s:%n%s".formatted(what, deadline, log()));
        }
        return process.exitValue();
    }

    /** What it has written. */
    public String log() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The answer of a URL. */
    public static HttpResponse<String> get(String url) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create(url)).timeout(ANSWER).build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    /** Polls the health until it contains the text, and returns it. */
    public static String awaitHealth(String url, String text) throws IOException, InterruptedException {
        long endNs = System.nanoTime() + HEALTH.toNanos();
        while (true) {
            String body = get(url).body();
            if (body.contains(text)) {
                return body;
            }
            if (System.nanoTime() - endNs > 0) {
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
